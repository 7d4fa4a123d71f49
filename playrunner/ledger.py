"""Ledger: what each run meant to do and did, one JSON line per event, in a folder of its own that outlives the run."""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.results import Recap, Result

KEPT_RUNS = 200  # older run folders are removed


def state_directory() -> Path:
    """Where runs are recorded: the XDG state directory, or PLAYRUNNER_STATE_HOME."""
    given = os.environ.get("PLAYRUNNER_STATE_HOME")
    if given:
        return Path(given)
    from platformdirs import user_state_path

    return Path(user_state_path("playrunner"))


class Ledger:
    """The record of one run. Intent is written before a step starts, outcome after it ended."""

    def __init__(self, command: str, directory: Path | None = None) -> None:
        root = (directory or state_directory()) / "runs"
        stamp = time.strftime("%Y%m%d-%H%M%S")
        self.run_id = f"{stamp}-{secrets.token_hex(3)}"
        self.folder = root / self.run_id
        try:
            self.folder.mkdir(parents=True, mode=0o700)
            (self.folder / "hosts").mkdir(mode=0o700)
            self._events = os.open(self.folder / "events.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise BadInput(f"the run cannot be recorded in {self.folder}: {error.strerror};"
                           " set PLAYRUNNER_STATE_HOME to a folder that can be written") from None
        self._lock = threading.Lock()
        self._logs: dict[str, int] = {}
        self._point_latest(root)
        self.event("run", command=command, pid=os.getpid())

    def event(self, kind: str, **facts: Any) -> None:
        line = json.dumps({"at": round(time.time(), 3), "event": kind, **facts}, default=str) + "\n"
        os.write(self._events, line.encode())  # appended in one call: lines of several threads never mix

    def intend(self, host: str, step: str, module: str, place: str) -> None:
        self.event("intent", host=host, step=step, module=module, place=place)

    def hear(self, result: Result) -> None:
        self.event("outcome", host=result.host, step=result.step, module=result.module, status=result.status,
                   changed=result.changed, seconds=result.seconds, place=str(result.place),
                   **({"msg": result.message} if result.status in ("failed", "unreachable") else {}))
        self.output(result.host, _log_text(result))

    def output(self, host: str, text: str) -> None:
        """A host's full output, in its own file."""
        with self._lock:
            if host not in self._logs:
                name = host.replace("/", "_").lstrip(".") or "_"
                self._logs[host] = os.open(self.folder / "hosts" / f"{name}.log",
                                           os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(self._logs[host], text.encode(errors="replace"))

    def close(self, recap: Recap, exit_code: int, seconds: float) -> None:
        self.event("end", exit_code=exit_code, seconds=round(seconds, 3))
        summary = {"run_id": self.run_id, "exit_code": exit_code, "seconds": round(seconds, 3), "recap": recap.hosts,
                   "slowest": [{"seconds": taken, "host": host, "step": step} for taken, host, step in recap.slowest]}
        scratch = self.folder / ".recap.json"
        scratch.write_text(json.dumps(summary, indent=2) + "\n")
        scratch.replace(self.folder / "recap.json")
        for descriptor in (self._events, *self._logs.values()):
            os.close(descriptor)
        _forget_old(self.folder.parent)

    def _point_latest(self, root: Path) -> None:
        scratch = root / f".latest-{self.run_id}"
        scratch.symlink_to(self.run_id)
        scratch.replace(root / "latest")


def _log_text(result: Result) -> str:
    lines = [f"[{time.strftime('%H:%M:%S')}] {result.status}: {result.step}"]
    for values in [item.values for item in result.items] or [result.values]:
        for stream in ("stdout", "stderr", "msg"):
            if values.get(stream):
                lines += [f"    {line}" for line in str(values[stream]).splitlines()]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class RunRecord:
    """A finished or interrupted run, read back."""

    run_id: str
    folder: Path
    command: str
    started: float
    recap: Mapping[str, Any]  # empty when the run never came to its end


def runs(directory: Path | None = None) -> list[RunRecord]:
    """Every recorded run, newest first."""
    root = (directory or state_directory()) / "runs"
    if not root.is_dir():
        return []
    folders = sorted((path for path in root.iterdir() if path.is_dir() and not path.is_symlink()), reverse=True)
    return [_read(folder) for folder in folders]


def events(folder: Path) -> Iterator[dict[str, Any]]:
    """A run's events; a line cut off by a crash is passed over."""
    file = folder / "events.jsonl"
    for line in file.read_text(errors="replace").splitlines() if file.is_file() else []:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _read(folder: Path) -> RunRecord:
    first = next(events(folder), {})
    try:
        recap = json.loads((folder / "recap.json").read_text())
    except (OSError, ValueError):
        recap = {}
    return RunRecord(folder.name, folder, str(first.get("command", "")), float(first.get("at", 0)), recap)


def _forget_old(root: Path) -> None:
    import shutil

    folders = sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink())
    for folder in folders[:-KEPT_RUNS]:
        shutil.rmtree(folder, ignore_errors=True)
