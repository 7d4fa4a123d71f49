"""Filters and tests written for Ansible: in filter_plugins/ and test_plugins/, in collections, and
those of ansible-core that are none of ours."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from playrunner import project
from playrunner.errors import BadInput, PlayrunnerError, StepFailed
from playrunner.plugins import ansible_library, collections, folders
from playrunner.plugins.values import as_data, as_given

Function = Callable[..., Any]
LONGEST_NAME = 120
_CLASSES = {"filter": ("FilterModule", "filters"), "test": ("TestModule", "tests")}


class PluginFunctions(dict[str, Function]):
    """Our functions by name, and every other that is found when a template names it.

    Jinja reads an entry whenever a template runs, so that stays the reading of a dict; it looks
    with `get` and `in` only to compile one.
    """

    def __init__(
        self, kind: str, own: dict[str, Function], guard: Callable[[str, str, Function], Function]
    ) -> None:
        super().__init__(own)
        self._kind, self._guard = kind, guard
        self._folders: tuple[Path, ...] = ()

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name, default) if name in self else default

    def __contains__(self, name: object) -> bool:
        self._add_folders()
        if super().__contains__(name):
            return True
        if not isinstance(name, str):
            return False
        function = _of_ansible(self._kind, name)
        if function is None:
            lost = [text for folder in self._folders for text in _in_folder(self._kind, folder)[1]]
            if lost:
                raise BadInput(f'there is no {self._kind} "{name}"; {"; ".join(lost)}')
            return False
        self[name] = self._guard(self._kind, name, function)
        return True

    def _add_folders(self) -> None:
        """Functions of folders that became known since; they win over ours of the same name."""
        now = folders.folders(self._kind)
        if now == self._folders:
            return
        new = [folder for folder in now if folder not in self._folders]
        self._folders = now
        for folder in reversed(new):
            for name, function in _in_folder(self._kind, folder)[0].items():
                for spelled in (name, f"ansible.legacy.{name}"):
                    self[spelled] = self._guard(self._kind, name, function)


def _of_ansible(kind: str, name: str) -> Function | None:
    """A function of a collection or of ansible-core; None if there is none of this name."""
    if len(name) > LONGEST_NAME:
        return None
    if not ansible_library.is_installed():
        if collections.is_qualified(name) and not name.startswith("ansible.builtin."):
            raise BadInput(
                f'the {kind} "{name}" needs ansible-core beside this program:'
                f" {project.install_extra('ansible')}"
            )
        return None
    full = name
    if not collections.is_qualified(name):
        full = collections.builtin_redirect(kind, name) or f"{collections.BUILTIN}.{name}"
    full = collections.redirected(kind, full)
    collection = collections.split_name(full)[0]
    if collection != collections.BUILTIN and collections.collection_folder(collection) is None:
        return None
    return _loaded(kind, full)


@cache
def _loaded(kind: str, name: str) -> Function | None:
    with ansible_library.lock():
        try:
            plugin = ansible_library.loader(kind).get(name)
        except PlayrunnerError:
            raise
        except Exception as error:  # KeyError, or whatever a plugin raises while it is imported
            if isinstance(error, KeyError):
                return None
            raise BadInput(f"the {kind} {name!r} cannot be loaded: {error}") from None
    return adapted(kind, name, plugin.j2_function) if plugin else None


@cache
def _in_folder(kind: str, folder: Path) -> tuple[dict[str, Function], list[str]]:
    """The functions of a folder, and why files are passed over: a broken one takes nothing from
    those who do not use it."""
    functions: dict[str, Function] = {}
    lost = []
    for path in sorted(folder.rglob("*.py")):
        if path.name.startswith("_"):
            continue
        try:
            functions |= _in_file(kind, path)
        except BadInput as error:
            sys.stderr.write(f"warning: {error}; it is passed over\n")
            lost.append(str(error))
    return functions, lost


def _in_file(kind: str, path: Path) -> dict[str, Function]:
    class_name, method = _CLASSES[kind]
    holder = getattr(load_file(kind, path), class_name, None)
    if holder is None:
        return {}
    try:
        functions = getattr(holder(), method)()
    except Exception as error:  # the plugin's own code
        raise BadInput(f"{path}: {class_name} cannot be used: {error}") from None
    return {name: adapted(kind, name, function) for name, function in functions.items()}


def load_file(kind: str, path: Path) -> ModuleType:
    """Import a plugin's file under a name of its own, of the form that Ansible's have."""
    text = path.read_bytes()
    if b"ansible_collections" in text and ansible_library.is_installed():
        ansible_library.loader(kind)  # makes collections importable
    number = int(hashlib.sha1(bytes(path)).hexdigest()[:12], 16)
    name = f"ansible.plugins.{kind}.{path.stem}_{number}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        del sys.modules[name]
        if (error.name or "").partition(".")[0] == "ansible" and not ansible_library.is_installed():
            raise BadInput(
                f"{path} imports ansible-core, which is not installed:"
                f" {project.install_extra('ansible')}"
            ) from None
        raise BadInput(f"{path} cannot be loaded: {error}") from None
    except Exception as error:  # the plugin's own code
        del sys.modules[name]
        raise BadInput(f"{path} cannot be loaded: {error}") from None
    return module


def adapted(kind: str, name: str, function: Function) -> Function:
    """The function with plain values in and plain values out; its errors name it."""
    passed = 1 if hasattr(function, "jinja_pass_arg") else 0

    def call(*args: Any, **options: Any) -> Any:
        try:
            result = function(
                *args[:passed],
                *map(as_given, args[passed:]),
                **{option: as_given(value) for option, value in options.items()},
            )
            return as_data(result)
        except PlayrunnerError:
            raise
        except Exception as error:  # Ansible's errors, and the plugin's own
            raise StepFailed(f"{kind} {name!r}: {error}") from None

    if passed:
        call.jinja_pass_arg = function.jinja_pass_arg  # type: ignore[attr-defined]
    return call
