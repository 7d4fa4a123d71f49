"""The output of a run's ranks as this machine recorded it: the last lines that match."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from playrunner.frozen import frozen
from playrunner.text.safe_path import file_name

MOST_BYTES = 16 << 20  # of each log's end
MOST_LINES = 500
MOST_WIDTH = 2000
_LABEL = re.compile(r"^\[(\d+(?:-\d+)?|node)\] ")
# As the styles of `train.log.style` write a step
_STEP = re.compile(
    r"\b(?:step (?=\d+/)|step=|Batch (?=\d+ Loss)|LOG .{0,40}\(\d+, "
    r"|iteration: ?|iteration (?=\d+:))(\d+)"
)
_SAVED = re.compile(r"\bsaving step (\d+)")
_RESUMED = re.compile(r"checkpoint: resuming from step-(\d+)")
_MARK = re.compile(
    r"^\[(?:\d+|\d+-\d+|node)\] (?:\d\d:\d\d:\d\d )?"
    r"((restart|guard|saving|---saving|checkpoint: resuming) ?:? ?.*)$"
)
_KINDS = {"saving": "checkpoint", "---saving": "checkpoint", "checkpoint: resuming": "resumed"}


@frozen
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
    lines: deque[LogLine] = deque(maxlen=most)
    ranks: dict[str, None] = {}
    wanted = text.lower()
    for host in hosts_of(folder):
        for line in _tail(folder / "hosts" / f"{host}.log"):
            label = _LABEL.match(line)
            name = label[1] if label else ""
            ranks[name] = None
            if (not rank or name == rank) and (not wanted or wanted in line.lower()):
                lines.append(LogLine(host, name, line[:MOST_WIDTH]))
    return list(lines), sorted(filter(None, ranks), key=_rank_order)


def marks(folder: Path, hosts: Sequence[str] = ()) -> list[dict[str, str | int]]:
    """Checkpoints, restarts, resumes and alerts of the guard in the log of the first host, each at
    the step that it names or that was logged before."""
    events: list[dict[str, str | int]] = []
    step = 0
    for line in _tail(_first_log(folder, hosts)):
        if exact := _SAVED.search(line) or _RESUMED.search(line) or _STEP.search(line):
            step = int(exact[1][:12])
        if match := _MARK.match(line):
            kind = _KINDS.get(match[2], match[2])
            events.append({"step": step, "kind": kind, "text": match[1][:200]})
    return events[-200:]


def last_state(folder: Path, hosts: Sequence[str] = ()) -> str:
    """The word with which the first node's supervisor ended, as its log has it."""
    for line in reversed(_tail(_first_log(folder, hosts), 4096)):
        match = re.match(r"^\[node\] \d\d:\d\d:\d\d (finished|failed|stopped|lost)\b", line)
        if match:
            return match[1]
    return ""


def _first_log(folder: Path, hosts: Sequence[str]) -> Path:
    """The log of rank 0's host, which a run's nodes begin with."""
    recorded = hosts_of(folder)
    named = [file_name(host) for host in hosts[:1] if file_name(host) in recorded]
    return folder / "hosts" / f"{(named or recorded or [''])[0]}.log"


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
