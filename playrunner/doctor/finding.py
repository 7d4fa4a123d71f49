"""Finding: the result of one check, and what to do when it failed."""

from __future__ import annotations

from pathlib import Path

from playrunner.frozen import frozen

HERE = "this machine"


@frozen
class Remedy:
    """A fix that `--fix` applies by itself: deletes nothing, needs only the user's own rights."""

    kind: str  # folder | mode | pip
    path: Path = Path()
    mode: int = 0o700
    extra: str = ""  # of pyproject.toml


@frozen
class Finding:
    """`needed_by` are the roles that need it."""

    what: str
    ok: bool
    detail: str  # the version or path; else what is wrong
    needed_by: tuple[str, ...] = ()
    fix: str = ""  # a command, or a sentence
    remedy: Remedy | None = None
    where: str = HERE
