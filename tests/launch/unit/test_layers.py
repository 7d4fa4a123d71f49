"""The role's files: which folder may know of which."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROLE = Path(__file__).parents[3] / "roles" / "training"
PREFIX = "roles.training."


def test_folders_of_the_role_know_of_one_another_in_one_direction_only() -> None:
    known: dict[str, set[str]] = {}
    for path in ROLE.rglob("*.py"):
        name = ".".join(path.relative_to(ROLE).with_suffix("").parts)
        known.setdefault(_part(name), set()).update(
            _part(each) for each in _imports(path) if _part(each) != _part(name)
        )
    assert {
        "planning",
        "runs",
        "watching",
        "diagnosis",
        "network",
        "environment",
        "launch",
        "verbs",
    } <= set(known)
    list(TopologicalSorter(known).static_order())  # raises at a circle, and names it


def _imports(path: Path) -> list[str]:
    """What a file imports of this role, wherever in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(PREFIX):
            found += [f"{node.module}.{each.name}".removeprefix(PREFIX) for each in node.names]
    return found


def _part(name: str) -> str:
    """The folder, or the file that lies beside the folders."""
    return name.partition(".")[0]
