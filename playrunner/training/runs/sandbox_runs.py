"""Runs whose checkpoints lie in the sandbox, and go with it."""

from __future__ import annotations

import sys
from pathlib import Path

from playrunner.errors import BadInput
from playrunner.record.ledger import state_directory

_FOLDERS = ("shared/runs/*", "data/*/runs/*", "nodes/*/*/runs/*")  # of nodes, and of claims


def agreed_to_delete(*, yes: bool, as_json: bool) -> bool:
    """Whether the sandbox may go; without checkpoints in it there is nothing to ask."""
    sizes = checkpoint_bytes(state_directory() / "sandbox")
    if not sizes or yes:
        return True
    listed = ", ".join(f"{run} ({size / 1e6:.1f} MB)" for run, size in sizes.items())
    text = (
        f"the checkpoints of {len(sizes)} run{'s' * (len(sizes) != 1)} would be deleted: {listed}"
    )
    if as_json or not sys.stdin.isatty():
        raise BadInput(f"{text}; --yes deletes them")
    return input(f"{text}; go on? [y/N] ").strip().lower() in ("y", "yes")


def checkpoint_bytes(root: Path) -> dict[str, int]:
    """By run, for those that have any."""
    sizes = {
        folder.name: sum(
            file.stat().st_size
            for file in (folder / "output" / "checkpoints").rglob("*")
            if file.is_file()
        )
        for pattern in _FOLDERS
        for folder in sorted(root.glob(pattern))
    }
    return {run: size for run, size in sizes.items() if size}
