"""Finding: one thing that was looked for, whether it is there, and what to do when it is not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = "this machine"


@dataclass(frozen=True)
class Remedy:
    """Something that `--fix` may do by itself: it takes nothing away, and needs nobody's rights but
    the user's."""

    kind: str  # folder | mode | pip
    path: Path = Path()
    mode: int = 0o700
    extra: str = ""  # of pyproject.toml


@dataclass(frozen=True)
class Finding:
    """`needed_by` are the roles that cannot do without it."""

    what: str
    there: bool
    said: str  # the version or place that was found; else what is wrong
    needed_by: tuple[str, ...] = ()
    fix: str = ""  # a command, or a sentence
    remedy: Remedy | None = None
    where: str = HERE
