"""The namespace of verbs, one file per group; each verb imports what it needs only when it runs, so
that `--list` is quick."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from invoke.collection import Collection

from playrunner.commands.role import role_verbs
from playrunner.project import role_folders

_ALL = {"--list", "-l", "--complete"}  # flags whose answer is about every verb
# Verbs and groups by their modules, some in rooms above this one: only what a command line names is
# imported.
_VERBS = {
    "init": "playrunner.commands.init",
    "play": "playrunner.commands.play",
    "run": "playrunner.commands.play",
    "status": "playrunner.commands.stacks",
    "teardown": "playrunner.commands.stacks",
    "audit": "playrunner.commands.audit",
    "unlock": "playrunner.commands.unlock",
    "cost": "playrunner.commands.cost",
    "doctor": "playrunner.commands.doctor",
    "page": "playrunner.page.verbs",
    "rehearse": "playrunner.training.verbs.rehearse",
}
_GROUPS = {
    name: f"playrunner.commands.{name}"
    for name in ("inventory", "hosts", "connections", "runs", "modules", "vault", "galaxy")
}


class Group(Collection):
    """Verbs with a prefix."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Group:
        return self  # Invoke copies the namespace of a tasks.py; nothing changes a group


def namespace(words: Sequence[str] = ()) -> Collection:
    """The verbs, grouped as `--list` shows them: the runner's own, and one group per role.

    If the command line names verbs, only those, and their whole groups where it names a verb that
    they do not have: Invoke copies every argument of every verb, which for all of them took a third
    of a short command.
    """
    named = set[str]() if _ALL.intersection(words) else {word.partition(".")[0] for word in words}
    verbs = [verb for verb in _VERBS if verb in named]
    groups = _groups(named.__contains__) if named else []
    if not groups and not verbs:
        verbs, groups = list(_VERBS), _groups(lambda name: True)
    root = Collection(*(getattr(importlib.import_module(_VERBS[verb]), verb) for verb in verbs))
    for group in groups:
        root.add_collection(_named_part(group, words) if named else group)
    return root


def _named_part(group: Collection, words: Sequence[str]) -> Collection:
    """The verbs of a group that the command line names, or all, to help with one that is none."""
    prefix = f"{group.name}."
    names = [word.removeprefix(prefix) for word in words if word.startswith(prefix)]
    if not names or not set(names) <= set(group.tasks):
        return group
    return Group(group.name, **{name: group.tasks[name] for name in names})


def _groups(includes: Callable[[str], bool]) -> list[Collection]:
    groups = [
        Group.from_module(importlib.import_module(module), name=name)
        for name, module in _GROUPS.items()
        if includes(name)
    ]
    for group in groups:
        if group.name == "runs":
            group.add_task(importlib.import_module(_VERBS["page"]).runs_report)
    for folder in role_folders().values():
        file = folder / "verbs.py"
        name = _group_name(file)
        if includes(name.replace("_", "-")):
            groups.append(_role_group(folder, _load(file) if file.is_file() else None, name))
    return [group for group in groups if group.task_names]


def _group_name(file: Path) -> str:
    """The role's, unless its verbs.py says another: read and not imported, which every command
    would wait for."""
    text = file.read_text() if file.is_file() else ""
    named = re.search(r'^GROUP = "(\w+)"', text, re.MULTILINE)
    return named[1] if named else file.parent.name


def _role_group(folder: Path, own: ModuleType | None, name: str) -> Collection:
    """A role's verbs: create, check, status and delete, and those it adds."""
    group = Group.from_module(own, name=name) if own else Group(name)
    if (folder / "tasks" / "main.yaml").is_file() and getattr(own, "LIFECYCLE", True):
        for made in role_verbs(folder.name):
            group.add_task(made)
    return group


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"roles.{file.parent.name}.verbs", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
