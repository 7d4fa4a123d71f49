"""A node's part of a run's folder: the supervisor's start order, status, log and lease."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from trainer.node.process_identity import boot_id, start_time


class NodeFolder:
    def __init__(self, run: Path, host: str) -> None:
        self.run, self.host = run, host
        self.path = run / "nodes" / host
        self.start, self.status = self.path / "start.json", self.path / "supervisor.json"
        self.log, self.lease = self.path / "log", self.path / "lease"
        self.output = run / "output"
        self.stop = self.path / "stop"
        self.secrets = self.path / "secrets.json"

    def read_status(self) -> dict[str, Any]:
        """The supervisor's last status; "lost" when its process is gone."""
        status = read_json(self.status)
        if status.get("state") in ("running", "stopping") and not is_running(status):
            gone = (
                "the supervisor of this node died without a final status (killed, or the node"
                " restarted)"
            )
            status = {**status, "state": "lost", "reason": gone}
        return status

    def write_status(self, **facts: Any) -> None:
        try:
            write_json(self.status, {"time": time.time(), **facts})
        except OSError:
            self._write_over(facts)

    def variables(self, start: dict[str, Any]) -> dict[str, Any]:
        """What the ranks get beside their command's own; secrets only where the start order has
        them, since a killed supervisor leaves its own behind."""
        secrets = read_json(self.secrets) if start.get("secrets") else {}
        return {**read_json(Path(start["environment"])), **secrets}

    def forget_secrets(self) -> None:
        try:
            self.secrets.unlink(missing_ok=True)
        except OSError:
            pass  # a file system that became read-only

    def request_stop(self) -> None:
        """Tell ranks that get SIGTERM that the whole run ends, not only their process."""
        try:
            self.stop.touch()
        except OSError:
            pass  # a full disk: they save what they can and count as interrupted

    def _write_over(self, facts: dict[str, Any]) -> None:
        """On a full disk, overwrite the last status in place; short, so that no half is read."""
        if facts.get("cause"):
            facts["cause"] = {**facts["cause"], "tail": []}
        try:
            with open(self.status, "r+") as out:
                out.write(json.dumps({"time": time.time(), **facts}))
                out.truncate()
        except OSError:
            pass  # a supervisor that dies without a final status counts as lost


class Lease:
    """A file that the controller touches as long as it follows the run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._touched, self._renewed = 0, time.monotonic()

    def silence(self) -> float:
        """Seconds since it was touched last."""
        try:
            touched = self.path.stat().st_mtime_ns
        except OSError:
            touched = 0
        if touched != self._touched:
            self._touched, self._renewed = touched, time.monotonic()
        return time.monotonic() - self._renewed


def is_running(status: dict[str, Any]) -> bool:
    """Whether the process that wrote this status still runs: same boot, pid and start time."""
    if status.get("machine") != socket.gethostname() or status.get("boot") != boot_id():
        return False
    return (
        bool(status.get("started")) and start_time(int(status.get("pid", 0))) == status["started"]
    )


def read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: Path, value: Any, mode: int = 0o600) -> None:
    """Atomically, so that a reader never sees half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as out:
        json.dump(value, out)
    draft.replace(path)
