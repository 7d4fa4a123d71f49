"""What a host gets to run a module written for Ansible: its code, which is sent once, and its
arguments."""

from __future__ import annotations

import json
import os
import shlex
from functools import cache
from typing import Any

from playrunner.errors import BadInput
from playrunner.model import Step
from playrunner.playbook import external_modules
from playrunner.plugins import module_files
from playrunner.plugins.module_files import ModuleFile
from playrunner.project import CODE
from playrunner.run.run_state import RunState
from playrunner.variables.host_memory import OMIT
from playrunner.variables.origins import setting
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

# What starts on a host to run modules in Python: each file after those it imports
_SERVER = (
    ("playrunner", None),
    ("playrunner.hostside", None),
    ("playrunner.hostside.installed_packages", "playrunner/hostside/installed_packages.py"),
    ("__main__", "playrunner/hostside/module_server.py"),
)
_SPECIAL_FILE_SYSTEMS = ("fuse", "nfs", "vboxsf", "ramfs", "9p", "vfat")


def external_arguments(step: Step, scope: Scope, shared: RunState) -> dict[str, Any]:
    """The arguments of the class that runs such modules on hosts."""
    module = external_modules.module_file(step.module)
    return described_module(module, rendered_arguments(step, scope), scope, shared)


def rendered_arguments(step: Step, scope: Scope) -> dict[str, Any]:
    templar = scope.run_vars.templar
    values = {
        str(name): templar.render(value, scope, keys=False)
        for name, value in step.arguments.items()
    }
    return {name: without_omitted(value) for name, value in values.items() if value is not OMIT}


def described_module(
    module: ModuleFile, arguments: dict[str, Any], scope: Scope, shared: RunState
) -> dict[str, Any]:
    """A module with its arguments, as hosts run it."""
    code = shared.cached(("external", module.name), lambda: _code(module, shared))
    settings = {**_settings(module, shared.options.verbose), **code["settings"]}
    described = {**code, "arguments": arguments, "settings": settings}
    if code["style"] != "python":
        described["interpreter"] = _interpreter(code["interpreter"], scope)
    return described


def without_omitted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_omitted(inner) for key, inner in value.items() if inner is not OMIT}
    if isinstance(value, list):
        return [without_omitted(inner) for inner in value if inner is not OMIT]
    return value


def _code(module: ModuleFile, shared: RunState) -> dict[str, Any]:
    from playrunner.plugins import bundle

    uploads = shared.uploads
    try:
        source = module_files.source(module.path)
        style = module_files.style_of(source)
        if style != "python":
            return {
                "name": module.name,
                "style": style,
                "file": {**uploads.of_bytes(source), "name": module.path.name},
                "interpreter": _shebang(source),
                "settings": {},
            }
        packs = [
            {
                "compiled": uploads.of_bytes(pack.compiled, packed=True),
                "source": uploads.of_bytes(pack.source, packed=True),
            }
            for pack in bundle.packs_of(module)
        ]
    except OSError as error:
        raise BadInput(f"{error.filename} cannot be read: {error.strerror}") from None
    return {
        "name": module.dotted,
        "style": style,
        "packs": packs,
        "magic": bundle.MAGIC,
        "program": uploads.of_bytes(_server()),
        "settings": {"_ansible_version": bundle.ansible_version()},
    }


@cache
def _server() -> bytes:
    texts = [(name, (CODE / path).read_text() if path else "") for name, path in _SERVER]
    return json.dumps(texts).encode()


def _settings(module: ModuleFile, verbosity: int) -> dict[str, Any]:
    return {
        "_ansible_debug": False,
        "_ansible_verbosity": verbosity,
        "_ansible_module_name": module.name.removeprefix("library."),
        "_ansible_syslog_facility": "LOG_USER",
        "_ansible_selinux_special_fs": list(_SPECIAL_FILE_SYSTEMS),
        "_ansible_socket": None,
        "_ansible_shell_executable": "/bin/sh",
        "_ansible_keep_remote_files": False,
        "_ansible_tmpdir": None,
        "_ansible_remote_tmp": "/tmp",
        "_ansible_target_log_info": None,
    }


def _shebang(source: bytes) -> list[str]:
    first = source.partition(b"\n")[0]
    return shlex.split(first[2:].decode("utf-8", "replace")) if first.startswith(b"#!") else []


def _interpreter(words: list[str], scope: Scope) -> list[str]:
    """What runs a program: its first line, unless ansible_NAME_interpreter says otherwise."""
    if not words:
        return []
    program = words[-1] if os.path.basename(words[0]) == "env" else words[0]
    name = os.path.basename(program)
    if name.startswith("python"):
        return ["python"]  # the host's own, which runs the agent
    configured = setting(scope, f"ansible_{name}_interpreter") if name.isidentifier() else MISSING
    return words if configured is MISSING else shlex.split(str(configured))
