"""Modules written for Ansible, as steps name them: which there are, and what is known of them
before they run."""

from __future__ import annotations

from dataclasses import replace

from playrunner.errors import BadInput, Place
from playrunner.plugins import module_files
from playrunner.plugins.module_files import ModuleFile

IMPORT_PATH = "playrunner.modules.host._external"  # the class that runs any of them
ACTION_PATH = "playrunner.modules.play._action_plugin"  # for those with an action plugin
_named: dict[str, ModuleFile] = {}


def overriding(name: str, in_collections: tuple[str, ...]) -> str | None:
    """A module that wins over ours of the same short name: in library/, or in a collection that the
    playbook names."""
    found = module_files.in_library(name)
    if found is None and in_collections and "." not in name:
        found = module_files.in_collections(name, in_collections)
    return _register(found)


def elsewhere(name: str) -> str | None:
    """A module that is none of ours, by its short or full name."""
    return _register(module_files.find_module(name))


def is_external(name: str) -> bool:
    return name in _named


def has_action(name: str) -> bool:
    """Whether a part of the module runs on the controller."""
    return name in _named and _named[name].action is not None


def import_path(name: str) -> str:
    return ACTION_PATH if has_action(name) else IMPORT_PATH


def without_action(name: str) -> str | None:
    """The host's part of a module, under a name of its own, for an action plugin that runs it."""
    module = _named.get(name) or (
        module_files.core_module(name)
        if name.startswith(("ansible.builtin.", "ansible.legacy."))
        else module_files.in_library(name)
        or module_files.find_module(name)
        or module_files.core_module(name)
    )
    if module is None or module.path == module.action:
        return None
    plain = f"{module.name} (module)"
    _named[plain] = replace(module, action=None)
    return plain


def module_file(name: str) -> ModuleFile:
    return _named[name]


def gives_facts(name: str) -> bool:
    """Whether a module may return facts; a later step that reads one waits for it."""
    return name in _named and b"ansible_facts" in module_files.source(_named[name].path)


def refusal(name: str) -> str | None:
    """Why a full name cannot be run here; None for a word that is no full name of a module."""
    return module_files.missing_module(name)


def check_runnable(name: str, place: Place) -> None:
    """Refuse a module that cannot run before any host is touched."""
    module = _named[name]
    try:
        module_files.check_runnable(module)
    except BadInput as error:
        raise BadInput(error.message, place) from None


def _register(found: ModuleFile | None) -> str | None:
    if found is None:
        return None
    _named[found.name] = found
    return found.name
