"""Action plugins written for Ansible: the half of a module that runs on the controller.

A plugin gets Ansible's own base class with the methods that reach a host replaced by ours, so what
it runs there goes to the agent like any other step.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.frozen import frozen
from playrunner.plugins import ansible_library
from playrunner.plugins.values import as_data, as_given


@frozen
class Host:
    """What an action plugin may do on the host of its step."""

    run_module: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    run_shell: Callable[[str, str | None, str | None], dict[str, Any]]  # line, folder, input
    put_file: Callable[[str, str], None]
    get_file: Callable[[str], bytes]
    find: Callable[[str, str], str]  # folder and name of a file on the controller


@frozen
class Task:
    """The step as an action plugin sees it."""

    name: str
    arguments: Mapping[str, Any]
    check: bool
    diff: bool
    hidden: bool
    folder: str
    delegate_to: str | None = None


def run_action(
    task: Task, variables: Mapping[str, Any], templar: Any, host: Host
) -> dict[str, Any]:
    """Run an action plugin; its result is data."""
    with ansible_library.lock():
        plugin_class: Any = ansible_library.loader("action").get(
            task.name.removeprefix("library."), class_only=True
        )
        if plugin_class is None:
            raise BadInput(f'there is no action plugin "{task.name}"')
        bridged = _bridged(plugin_class, host)
        connection = _connection(host)
        plugin: Any = bridged(
            task=_task(task),
            connection=connection,
            play_context=SimpleNamespace(
                check_mode=task.check,
                diff=task.diff,
                no_log=task.hidden,
                become=False,
                verbosity=0,
                remote_addr=variables.get("ansible_host"),
                remote_user=variables.get("ansible_user"),
            ),
            loader=ansible_library.data_loader(task.folder),
            templar=templar,
            shared_loader_obj=importlib.import_module("ansible.plugins.loader"),
        )
    try:
        result = plugin.run(task_vars=variables)
        plugin.cleanup()
    except PlayrunnerError:
        raise
    except Exception as error:  # Ansible's errors, and the plugin's own
        kind = type(error).__name__
        result = dict(getattr(error, "result", None) or {})
        result.setdefault("msg", str(error))
        if kind not in ("AnsibleActionSkip", "_AnsibleActionDone"):
            result["failed"] = True
    values: dict[str, Any] = as_data(result or {})
    return values


def _bridged(plugin_class: type, host: Host) -> type:
    return type("Bridged", (_Bridge, plugin_class), {"bridge_host": host})


class _Loaders:
    """Ansible's loaders for a plugin that runs other action plugins: those reach the host as it
    does."""

    def __init__(self, loaders: Any, host: Host) -> None:
        self._loaders = loaders
        self.action_loader = _ActionLoader(loaders.action_loader, host)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loaders, name)


class _ActionLoader:
    def __init__(self, loader: Any, host: Host) -> None:
        self._loader, self._host = loader, host

    def get(self, name: str, *args: Any, class_only: bool = False, **given: Any) -> Any:
        plugin_class = self._loader.get(name, class_only=True)
        if plugin_class is None or class_only:
            return plugin_class and _bridged(plugin_class, self._host)
        return _bridged(plugin_class, self._host)(*args, **given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Bridge:
    """Replaces what ActionBase does over a connection; comes before the plugin's own class."""

    bridge_host: Host
    _task: Any
    _connection: Any

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        loaders = importlib.import_module("ansible.plugins.loader")
        self._shared_loader_obj = _Loaders(loaders, self.bridge_host)

    def _execute_module(
        self,
        module_name: str | None = None,
        module_args: Mapping[str, Any] | None = None,
        *_: Any,
        **__: Any,
    ) -> dict[str, Any]:
        arguments = self._task.args if module_args is None else module_args
        given = {
            str(name): as_data(value)
            for name, value in arguments.items()
            if not str(name).startswith("_ansible_")
        }
        return self.bridge_host.run_module(module_name or self._task.action, given)

    def _low_level_execute_command(
        self,
        cmd: str,
        sudoable: bool = True,
        in_data: Any = None,
        executable: str | None = None,
        encoding_errors: str = "surrogate_then_replace",
        chdir: str | None = None,
    ) -> dict[str, Any]:
        data = in_data.decode() if isinstance(in_data, bytes) else in_data
        ran = self.bridge_host.run_shell(cmd, chdir, data)
        out, err = ran.get("stdout", ""), ran.get("stderr", "")
        return {
            "rc": ran.get("rc", 1),
            "stdout": out,
            "stdout_lines": out.splitlines(),
            "stderr": err,
            "stderr_lines": err.splitlines(),
        }

    def _transfer_file(self, local_path: str, remote_path: str) -> str:
        self.bridge_host.put_file(local_path, remote_path)
        return remote_path

    def _make_tmp_path(self, remote_user: str | None = None) -> str:
        made = self.bridge_host.run_shell("mktemp -d", None, None)
        folder = os.path.join(str(made.get("stdout", "")).strip(), "")
        self._connection._shell.tmpdir = folder
        return folder

    def _remove_tmp_path(self, tmp_path: str | None, force: bool = False) -> None:
        if tmp_path and tmp_path.startswith("/tmp/tmp."):
            self.bridge_host.run_shell(f"rm -rf '{tmp_path}'", None, None)
            self._connection._shell.tmpdir = None

    def _fixup_perms2(self, remote_paths: Any, remote_user: Any = None, execute: Any = True) -> Any:
        return remote_paths  # files belong to the user of the agent, who also runs the module

    def _remote_expand_user(self, path: str, sudoable: bool = True, pathsep: Any = None) -> str:
        if not path.startswith("~"):
            return path
        return str(
            self.bridge_host.run_shell(f"echo {path}", None, None).get("stdout", path)
        ).strip()

    def _remote_file_exists(self, path: str) -> bool:
        line = self._connection._shell.exists(path)
        return str(self._low_level_execute_command(line)["stdout"]).strip() == "0"

    def _find_needle(self, dirname: str, needle: str) -> str:
        return self.bridge_host.find(dirname, needle)


def _task(task: Task) -> Any:
    made: Any = SimpleNamespace(
        action=task.name.removeprefix("library."),
        resolved_action=task.name,
        args=as_given(dict(task.arguments)),
        async_val=0,
        poll=0,
        check_mode=task.check,
        diff=task.diff,
        no_log=task.hidden,
        collections=[],
        environment=[],
        delegate_to=task.delegate_to,
        become=False,
        module_defaults=[],
        vars={},
        loop=None,
        _role=None,
        _parent=None,
        _uuid="",
        name=task.name,
    )
    made.copy = lambda *_, **__: _task(task)
    made.get_search_path = lambda: [task.folder]
    made.get_name = lambda *_, **__: task.name
    return made


def _connection(host: Host) -> Any:
    shell = importlib.import_module("ansible.plugins.loader").shell_loader.get("sh")
    shell.tmpdir = None
    made: Any = SimpleNamespace(
        transport="ssh",
        _shell=shell,
        become=None,
        has_native_async=False,
        has_pipelining=True,
        always_pipeline_modules=False,
        _remote_is_local=False,
        _load_name="ssh",
        module_implementation_preferences=("",),
        get_option=lambda *_, **__: None,
        has_option=lambda *_: False,
        is_pipelining_enabled=lambda *_, **__: True,
        put_file=host.put_file,
        _connected=True,
        connected=True,
    )

    def fetch_file(in_path: str, out_path: str) -> None:
        with open(out_path, "wb") as file:
            file.write(host.get_file(in_path))

    made.fetch_file = fetch_file
    return made
