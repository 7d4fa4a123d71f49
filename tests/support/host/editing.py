"""What every module that edits a file promises: foreseen, done once, and taken back to the byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playrunner.hostside.perform import perform, restore

Host = Callable[..., Any]


def assert_edited_once_and_taken_back(
    host: Host, target: Path, module: Callable[[], Any], before: str | None, after: str | None
) -> None:
    if before is not None:
        target.write_bytes(before.encode())

    def now() -> str | None:
        return target.read_bytes().decode() if target.exists() else None

    foreseen = perform(module(), host(check=True))
    assert now() == before
    first = perform(module(), host(diff=True))
    assert now() == after and first["changed"] == foreseen["changed"] == (before != after)
    assert not perform(module(), host())["changed"] and now() == after
    if first["changed"]:
        restore(module(), first["diff"]["before"], host(diff=True))
        assert now() == before
