"""Ignored: what a .dockerignore leaves out of a build; the last line that fits a path decides."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

FILE = ".dockerignore"
# Made by programs, of no use in an image, and different on every machine.
ALWAYS = ("**/__pycache__", "**/*.pyc", "**/.git", FILE)


class Ignored:
    """The lines of one .dockerignore, with what is always left out."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        cleaned = [line.strip() for line in (*lines, *ALWAYS)]
        self._rules = [_rule(line) for line in cleaned if line and not line.startswith("#")]

    @classmethod
    def of(cls, folder: Path) -> Ignored:
        file = folder / FILE
        return cls(file.read_text().splitlines() if file.is_file() else ())

    def covers(self, path: str) -> bool:
        """Whether a path, relative to the folder, is left out: by itself, or with a folder it lies
        in."""
        out = False
        for pattern, keeps in self._rules:
            if pattern.fullmatch(path):
                out = not keeps
        return out


def _rule(line: str) -> tuple[re.Pattern[str], bool]:
    keeps = line.startswith("!")
    pattern = line.removeprefix("!").strip().strip("/")
    while pattern.startswith("./"):
        pattern = pattern[2:]
    return re.compile(f"{_expression(pattern)}(/.*)?", re.DOTALL), keeps


def _expression(pattern: str) -> str:
    """The pattern of a .dockerignore as a regular expression: * and ? stay within a name, **
    crosses folders."""
    expression, position = "", 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            expression, position = expression + "(?:.*/)?", position + 3
        elif pattern.startswith("**", position):
            expression, position = expression + ".*", position + 2
        elif pattern[position] in "*?":
            expression, position = (
                expression + ("[^/]*" if pattern[position] == "*" else "[^/]"),
                position + 1,
            )
        elif pattern[position] == "[" and "]" in pattern[position:]:
            end = pattern.index("]", position)
            expression, position = expression + pattern[position : end + 1], end + 1
        else:
            expression, position = expression + re.escape(pattern[position]), position + 1
    return expression
