"""What this machine keeps of a run: the job, every node's output, and the metrics as they came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

from playrunner.errors import BadInput
from playrunner.record.ledger import state_directory
from playrunner.text import atomic_write
from playrunner.text.documents import parse_json, read_json_object
from playrunner.text.safe_path import file_name

_REFUSED = "refused.json"


class Record:
    """A run's folder on this machine."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = (
            state_directory() / "training" / "runs" / file_name(name)
        )  # the name may come from a host
        self._files: dict[str, IO[str]] = {}

    def begin(self, job: dict[str, Any], past: bool = False) -> None:
        """A new attempt of the run; with `past`, the metrics of earlier attempts are kept, since
        this is their only copy."""
        (self.folder / "hosts").mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_write.write_text(self.folder / "run.json", json.dumps(job, indent=2) + "\n")
        (self.folder / "ended.json").unlink(missing_ok=True)
        (self.folder / _REFUSED).unlink(missing_ok=True)
        if not past:
            (self.folder / "metrics.jsonl").unlink(
                missing_ok=True
            )  # the node's own comes whole, its past included

    def job(self) -> dict[str, Any]:
        return self._read("run.json")

    def refuse(self, job: dict[str, Any]) -> None:
        """What was to be launched, so that train.why can look at it again."""
        self.keep(_REFUSED, json.dumps(job, indent=1) + "\n")

    def refused(self) -> dict[str, Any]:
        return self._read(_REFUSED)

    def end(self, said: dict[str, Any]) -> None:
        """How it ended, for runs of which nothing else is left to ask."""
        self.keep("ended.json", json.dumps(said, indent=1) + "\n")

    def ending(self) -> dict[str, Any]:
        return self._read("ended.json")

    def keep(self, name: str, text: str) -> None:
        """A file of its own: whole, or not there."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_write.write_text(self.folder / name, text)

    def begin_log(self, host: str) -> None:
        """Start the log again from its first line."""
        self._close(self.log(host))
        self.log(host).unlink(missing_ok=True)

    def log(self, host: str) -> Path:
        return self.folder / "hosts" / f"{file_name(host)}.log"

    def write_log(self, host: str, text: str) -> None:
        self._add(self.log(host), text)

    def write_metrics(self, text: str, again: bool = False) -> None:
        path = self.folder / "metrics.jsonl"
        if again and path.exists():
            self._close(path)
            path.unlink()
        self._add(path, text)

    def metrics(self) -> list[dict[str, Any]]:
        path = self.folder / "metrics.jsonl"
        return parse_metrics(path.read_text()) if path.exists() else []

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _read(self, name: str) -> dict[str, Any]:
        try:
            return read_json_object(self.folder / name)
        except BadInput:
            return {}

    def _add(self, path: Path, text: str) -> None:
        if str(path) not in self._files:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._files[str(path)] = path.open("a", encoding="utf-8")
        self._files[str(path)].write(text)
        self._files[str(path)].flush()

    def _close(self, path: Path) -> None:
        file = self._files.pop(str(path), None)
        if file:
            file.close()


def parse_metrics(text: str) -> list[dict[str, Any]]:
    """Metric lines that hold a loss; one cut short is passed over."""
    records = []
    for line in text.splitlines():
        try:
            record = parse_json(line, "metrics")
        except BadInput:
            continue
        if isinstance(record, dict) and record.get("loss") is not None:
            records.append(record)
    return records


def recorded() -> list[Record]:
    """Every run this machine has launched, by name."""
    root = state_directory() / "training" / "runs"
    return (
        [Record(path.name) for path in sorted(root.iterdir()) if (path / "run.json").exists()]
        if root.is_dir()
        else []
    )
