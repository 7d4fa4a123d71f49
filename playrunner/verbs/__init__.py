"""The verbs a user types, one file per group; each imports what it needs only when it runs, so `invoke --list` is quick."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from invoke.collection import Collection

from playrunner.verbs import audit, cost, doctor, hosts, inventory, modules, play, runs, stacks
from playrunner.verbs.role import role_verbs


def namespace(roles: Path) -> Collection:
    """Every verb, grouped as `invoke --list` shows them: the runner's own, and one group per role."""
    root = Collection(play.play, play.run, stacks.status, stacks.teardown, audit.audit, cost.cost, doctor.doctor)
    for name, group in (("inventory", inventory), ("hosts", hosts), ("runs", runs), ("modules", modules)):
        root.add_collection(Collection.from_module(group, name=name))
    for folder in sorted(path for path in roles.iterdir() if path.is_dir()):
        verbs = _role_group(folder)
        if verbs.task_names:
            root.add_collection(verbs)
    return root


def _role_group(folder: Path) -> Collection:
    """A role's verbs: those every role has, and those it adds."""
    own = _load(folder / "verbs.py") if (folder / "verbs.py").is_file() else None
    group = Collection.from_module(own, name=getattr(own, "GROUP", folder.name)) if own else Collection(folder.name)
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
