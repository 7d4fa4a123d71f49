"""The namespace of verbs, one file per group; each verb imports what it needs only when it runs, so
that `--list` is quick."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from invoke.collection import Collection

from playrunner.commands import (
    audit,
    cost,
    doctor,
    galaxy,
    hosts,
    init,
    inventory,
    modules,
    play,
    runs,
    stacks,
    unlock,
    vault,
)
from playrunner.commands.role import role_verbs
from playrunner.project import role_folders

_ALL = {"--list", "-l", "--complete"}  # flags whose answer is about every verb
_OWN = {
    "inventory": inventory,
    "hosts": hosts,
    "runs": runs,
    "modules": modules,
    "vault": vault,
    "galaxy": galaxy,
}


class Group(Collection):
    """Verbs with a prefix."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Group:
        return self  # Invoke copies the namespace of a tasks.py; nothing changes a group


def namespace(words: Sequence[str] = ()) -> Collection:
    """The verbs, grouped as `--list` shows them: the runner's own, and one group per role.

    If the command line names verbs, only their groups: Invoke copies every argument of every verb,
    which for all of them took a third of a short command.
    """
    root = Collection(
        init.init,
        play.play,
        play.run,
        stacks.status,
        stacks.teardown,
        audit.audit,
        unlock.unlock,
        cost.cost,
        doctor.doctor,
        _page_verbs().page,
        importlib.import_module("playrunner.training.verbs.rehearse").rehearse,
    )
    named = set[str]() if _ALL.intersection(words) else {word.partition(".")[0] for word in words}
    groups = _groups(named.__contains__) if named else []
    if not groups and not named.intersection(root.task_names):
        groups = _groups(lambda name: True)
    for group in groups:
        root.add_collection(group)
    return root


def _groups(includes: Callable[[str], bool]) -> list[Collection]:
    groups = [
        Group.from_module(module, name=name) for name, module in _OWN.items() if includes(name)
    ]
    for group in groups:
        if group.name == "runs":
            group.add_task(_page_verbs().runs_report)
    for folder in role_folders().values():
        own = _load(folder / "verbs.py") if (folder / "verbs.py").is_file() else None
        name = getattr(own, "GROUP", folder.name)
        if includes(name.replace("_", "-")):
            groups.append(_role_group(folder, own, name))
    return [group for group in groups if group.task_names]


def _page_verbs() -> Any:
    """The verbs of a room above this one, found by name like those of roles."""
    return importlib.import_module("playrunner.page.verbs")


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
