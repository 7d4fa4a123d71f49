"""The output of a run's ranks as this machine recorded it: the last lines that match."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 16 << 20  # of each log's end
MOST_LINES = 500
MOST_WIDTH = 2000
_LABEL = re.compile(r"^\[(\d+(?:-\d+)?|node)\] ")
_STEP = re.compile(r"\bstep (\d+)/")
_MARK = re.compile(
    r"^\[(?:\d+|\d+-\d+|node)\] (?:\d\d:\d\d:\d\d )?((restart|guard|saving) ?:? ?.*)$"
)


@dataclass(frozen=True)
class LogLine:
    host: str
    rank: str
    text: str


def hosts_of(folder: Path) -> list[str]:
    """The names of the logs, as the record wrote them."""
    try:
        return sorted(path.stem for path in (folder / "hosts").iterdir() if path.suffix == ".log")
    except OSError:
        return []


def log_lines(
    folder: Path, rank: str = "", text: str = "", most: int = MOST_LINES
) -> tuple[list[LogLine], list[str]]:
    """The last lines of a rank (empty: of all) that have the text, and the ranks there are."""
    found: deque[LogLine] = deque(maxlen=most)
    ranks: dict[str, None] = {}
    wanted = text.lower()
    for host in hosts_of(folder):
        for line in _tail(folder / "hosts" / f"{host}.log"):
            label = _LABEL.match(line)
            name = label[1] if label else ""
            ranks[name] = None
            if (not rank or name == rank) and (not wanted or wanted in line.lower()):
                found.append(LogLine(host, name, line[:MOST_WIDTH]))
    return list(found), sorted(filter(None, ranks), key=_rank_order)


def marks(folder: Path) -> list[dict[str, str | int]]:
    """Checkpoints, restarts and alerts of the guard, each at the step that was logged before."""
    found: list[dict[str, str | int]] = []
    for host in hosts_of(folder)[:1]:
        step = 0
        for line in _tail(folder / "hosts" / f"{host}.log"):
            if counted := _STEP.search(line):
                step = int(counted[1][:12])
            elif match := _MARK.match(line):
                kind = "checkpoint" if match[2] == "saving" else match[2]
                found.append({"step": step, "kind": kind, "text": match[1][:200]})
    return found[-200:]


def last_state(folder: Path) -> str:
    """The word with which the first node's supervisor ended, as its log has it."""
    for host in hosts_of(folder)[:1]:
        for line in reversed(list(_tail(folder / "hosts" / f"{host}.log", 4096))):
            match = re.match(r"^\[node\] \d\d:\d\d:\d\d (finished|failed|stopped|lost)\b", line)
            if match:
                return match[1]
    return ""


def _tail(path: Path, most: int = MOST_BYTES) -> list[str]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - most))
            lines = file.read(most).decode(errors="replace").split("\n")
    except OSError:
        return []
    return [line for line in (lines[1:] if size > most else lines) if line]


def _rank_order(name: str) -> tuple[int, str]:
    first = name.split("-")[0]
    return (int(first) if first.isdigit() else 1 << 30, name)
