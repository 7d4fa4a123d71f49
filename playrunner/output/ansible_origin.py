"""Where something was written, shown as ansible-core shows it: the line and two before it."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from playrunner.errors import Place
from playrunner.vault.envelope import is_encrypted

CONTEXT_LINES = 2
WIDTH = 120
CUT = "..."
_WITH_COLUMNS = (".yml", ".yaml", ".json")  # its reader of INI files knows no columns


def shown_origin(place: Place, word: str = "") -> str:
    """The lines that follow a message about a word, or about what begins in the line."""
    if place.file.startswith("<") or not place.file:  # no file: the command line
        return f"Origin: {place.file or '<unknown>'}\n\n{word}\n"
    file = os.path.abspath(place.file)
    try:
        with Path(file).open(encoding="utf-8") as source:
            lines = [line.rstrip("\n").replace("\t", " ") for line in islice(source, place.line)]
    except (OSError, UnicodeDecodeError):
        lines = []
    if not place.line or len(lines) != place.line:
        return f"Origin: {file}:{place.line}\n" if place.line else f"Origin: {file}\n"
    column = _column(lines[-1], word) if file.endswith(_WITH_COLUMNS) else 0
    origin = f"Origin: {file}:{place.line}" + (f":{column}" if column else "")
    if is_encrypted(lines[0]):
        return f"{origin}\n\n(source not shown: content encrypted)\n"
    return "\n".join([origin, "", *_excerpt(lines, column), ""])


def _column(line: str, word: str) -> int:
    if not word:
        return len(line) - len(line.lstrip(" -")) + 1
    found = re.search(rf"[\"']?(?<!\w){re.escape(word)}(?!\w)", line)
    return found.start() + 1 if found else 1


def _excerpt(lines: list[str], column: int) -> list[str]:
    width = len(str(len(lines)))
    room = WIDTH - width - 1
    first = max(0, len(lines) - 1 - CONTEXT_LINES)
    cut = [line if len(line) <= room else line[: room - len(CUT)] + CUT for line in lines[first:]]
    shown = [
        f"{number:>{width}} {line}" if line else f"{number:>{width}}"
        for number, line in enumerate(cut, first + 1)
    ]
    under = f"{' ' * (column - 1)}^ column {column}" if column else "^" * len(cut[-1])
    return [*shown, f"{' ' * width} {under}"]
