"""Past runs, read from their folders; lines that cannot be read are skipped and counted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.frozen import frozen, mutable
from playrunner.record.ledger import FORMAT, state_directory
from playrunner.text.answers import misfit, too_deep

MOST_LINE = 16 << 20  # bytes; the longest real lines hold a step's message
_YEAR_10000 = 253_402_300_800.0  # what a clock can show ends here
_EVENT = {
    "at!": float,
    "event!": str,
    "command": str,
    "pid": int,
    "format": int,
    "exit_code": int,
    "seconds": float,
    **dict.fromkeys(
        ("host", "step", "module", "place", "status", "msg", "subject", "call", "token"), str
    ),
}
_RECAP = {"run_id": str, "exit_code": int, "seconds": float, "recap": {"*": {"*": int}}}


@frozen
class RunRecord:
    """A finished or interrupted run, read back."""

    run_id: str
    folder: Path
    command: str
    started: float
    recap: Mapping[str, Any]  # empty when the run was cut short
    pid: int = 0
    check: bool = False


@mutable
class Unreadable:
    """What of a record could not be read."""

    parts: list[str] = field(default_factory=list)

    def warning(self) -> str:
        """One line about what could not be read; empty when everything could."""
        more = f" (and {len(self.parts) - 1} more like it)" if len(self.parts) > 1 else ""
        return f"{self.parts[0]} is no record of a run and is left out{more}" if self.parts else ""


def runs(directory: Path | None = None, unreadable: Unreadable | None = None) -> list[RunRecord]:
    """Every recorded run, newest first."""
    root = (directory or state_directory()) / "runs"
    try:
        folders = sorted(
            (path for path in root.iterdir() if path.is_dir() and not path.is_symlink()),
            reverse=True,
        )
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BadInput(
            f"the records of runs cannot be read: {error.strerror}", Place(str(root))
        ) from None
    return [run_record(folder, unreadable or Unreadable()) for folder in folders]


def events(folder: Path, unreadable: Unreadable | None = None) -> Iterator[dict[str, Any]]:
    """A run's events, in their order."""
    file, left_out = folder / "events.jsonl", (unreadable or Unreadable()).parts
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(_lines(stream), 1):
                found = _mapping(line, _EVENT)
                if found is not None and 0 <= found["at"] < _YEAR_10000:
                    yield found
                elif line.strip():
                    left_out.append(f"{file}:{number}")
    except FileNotFoundError:
        return
    except OSError:
        left_out.append(str(file))


def _lines(stream: Any) -> Iterator[bytes]:
    """Line by line; a line that is too long is cut, and then counts as unreadable."""
    while line := stream.readline(MOST_LINE):
        yield line
        while not line.endswith(b"\n") and (line := stream.readline(MOST_LINE)):
            pass


def _mapping(text: bytes, shape: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        value = json.loads(text.decode(errors="replace"), object_hook=_without_nulls)
    except (ValueError, RecursionError):
        return None
    return None if misfit(value, dict(shape)) or too_deep(value) or not _finite(value) else value


def _without_nulls(found: dict[str, Any]) -> dict[str, Any]:
    """A field that is null is one that is not there."""
    return {name: value for name, value in found.items() if value is not None}


def _finite(value: dict[str, Any]) -> bool:
    return all(
        math.isfinite(value[name])
        for name in ("at", "seconds")
        if isinstance(value.get(name), float)
    )


def run_record(folder: Path, unreadable: Unreadable) -> RunRecord:
    """One run, from its folder."""
    first = next(events(folder, unreadable), {})
    recap: dict[str, Any] | None = {}
    try:
        with (folder / "recap.json").open("rb") as stream:
            recap = _mapping(stream.read(MOST_LINE), _RECAP)
    except FileNotFoundError:
        pass  # the run was cut short
    except OSError:
        recap = None
    if int(first.get("format", 0)) > FORMAT:
        unreadable.parts.append(f"{folder} (of a newer playrunner)")
        first, recap = {}, {}
    if recap is None:
        unreadable.parts.append(str(folder / "recap.json"))
    return RunRecord(
        folder.name,
        folder,
        str(first.get("command") or ""),
        float(first.get("at", 0)),
        recap or {},
        int(first.get("pid", 0)),
        first.get("check") is True,
    )
