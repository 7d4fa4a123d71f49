"""The promise of every stateful module: looking touches nothing, a second run changes nothing, it
can be taken back."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playrunner.hostside.module import Module
from playrunner.hostside.perform import perform, restore


def keeps_its_promise(
    host: Callable[..., Any],
    make_module: Callable[[], Module],
    world_snapshot: Callable[[], Any],
    disturb: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Checks the promise; `disturb` makes a difference that the module has to mend. Returns the
    first run's result."""
    start = world_snapshot()
    foreseen = perform(make_module(), host(check=True))
    assert world_snapshot() == start, "looking touched something"
    first = perform(make_module(), host(diff=True))
    made = world_snapshot()
    assert foreseen["changed"] == first["changed"], "--check foresaw something else"
    assert first["changed"] and made != start, "the first run made nothing"
    again = perform(make_module(), host())
    assert not again["changed"] and world_snapshot() == made, "the second run was not quiet"
    assert not perform(make_module(), host(check=True))["changed"], (
        "--check saw a change where none is needed"
    )
    if disturb:
        disturb()
        assert world_snapshot() != made, "the disturbance made no difference"
        assert perform(make_module(), host())["changed"], "the difference was not seen"
        assert world_snapshot() == made, "the difference was not mended"
    restore(make_module(), first["diff"]["before"], host(diff=True))
    assert world_snapshot() == start, "it was not taken back"
    return first


def tree_of(root: Path) -> dict[str, tuple[Any, ...]]:
    """Everything below a folder: kind, mode, content, link target."""
    seen: dict[str, tuple[Any, ...]] = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = Path(folder, name)
            info = path.lstat()
            mode = stat.S_IMODE(info.st_mode)
            if path.is_symlink():
                seen[str(path.relative_to(root))] = ("link", os.readlink(path))
            elif path.is_dir():
                seen[str(path.relative_to(root))] = ("directory", mode, info.st_uid)
            else:
                seen[str(path.relative_to(root))] = ("file", mode, info.st_uid, path.read_bytes())
    return seen
