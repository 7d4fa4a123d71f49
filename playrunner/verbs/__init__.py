"""The verbs a user types, one file per group; each imports what it needs only when it runs, so `invoke --list` is quick."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from invoke.collection import Collection

from playrunner.verbs import hosts, inventory, modules, play, runs


def namespace(roles: Path) -> Collection:
    """Every verb, grouped as `invoke --list` shows them: the runner's own, and one group per role."""
    root = Collection(play.play, play.run)
    for name, group in (("inventory", inventory), ("hosts", hosts), ("runs", runs), ("modules", modules)):
        root.add_collection(Collection.from_module(group, name=name))
    for file in sorted(roles.glob("*/verbs.py")):
        group = _load(file)
        root.add_collection(Collection.from_module(group, name=getattr(group, "GROUP", file.parent.name)))
    return root


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"roles.{file.parent.name}.verbs", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
