"""The verbs a user types, one file per group; each imports what it needs only when it runs, so
`invoke --list` is quick."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from invoke.collection import Collection

from playrunner.commands import audit, cost, doctor, hosts, inventory, modules, play, runs, stacks
from playrunner.commands.role import role_verbs

_ALL = {"--list", "-l", "--complete"}  # flags whose answer is about every verb
_OWN = {"inventory": inventory, "hosts": hosts, "runs": runs, "modules": modules}


def namespace(roles: Path, words: Sequence[str] = ()) -> Collection:
    """The verbs, grouped as `invoke --list` shows them: the runner's own, and one group per role.

    Of the groups only those that the command line's words name, if they name a verb at all: Invoke
    copies each argument of whatever it is given, which for all verbs took a third of a short
    command.
    """
    root = Collection(
        play.play, play.run, stacks.status, stacks.teardown, audit.audit, cost.cost, doctor.doctor
    )
    named = set[str]() if _ALL.intersection(words) else {word.partition(".")[0] for word in words}
    groups = _groups(roles, named.__contains__) if named else []
    if not groups and not named.intersection(root.task_names):
        groups = _groups(roles, lambda name: True)
    for group in groups:
        root.add_collection(group)
    return root


def _groups(roles: Path, wanted: Callable[[str], bool]) -> list[Collection]:
    found = [
        Collection.from_module(group, name=name) for name, group in _OWN.items() if wanted(name)
    ]
    for folder in sorted(path for path in roles.iterdir() if path.is_dir()):
        own = _load(folder / "verbs.py") if (folder / "verbs.py").is_file() else None
        name = getattr(own, "GROUP", folder.name)
        if wanted(name.replace("_", "-")):
            found.append(_role_group(folder, own, name))
    return [group for group in found if group.task_names]


def _role_group(folder: Path, own: ModuleType | None, name: str) -> Collection:
    """A role's verbs: those every role has, and those it adds."""
    group = Collection.from_module(own, name=name) if own else Collection(name)
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
