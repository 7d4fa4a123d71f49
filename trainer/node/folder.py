"""A node's part of a run's folder: what the keeper was told, what it says, the log, the lease."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from trainer.node.processes import boot_id, start_time


class NodeFolder:
    def __init__(self, run: Path, host: str) -> None:
        self.run, self.host = run, host
        self.path = run / "nodes" / host
        self.start, self.keeper = self.path / "start.json", self.path / "keeper.json"
        self.log, self.lease = self.path / "log", self.path / "lease"
        self.output = run / "output"
        self.stop = self.path / "stop"

    def read_keeper(self) -> dict[str, Any]:
        """What the keeper last said, corrected where it can say nothing any more."""
        found = read_json(self.keeper)
        if found.get("state") in ("running", "stopping") and not is_keeper(found):
            gone = "the keeper of this node is gone without a word (killed, or the node restarted)"
            found = {**found, "state": "lost", "reason": gone}
        return found

    def write_keeper(self, **facts: Any) -> None:
        try:
            write_json(self.keeper, {"time": time.time(), **facts})
        except OSError:
            self._write_over(facts)

    def say_stop(self) -> None:
        """To ranks that are asked to end: the run ends, not only they."""
        try:
            self.stop.touch()
        except OSError:
            pass  # a full disk: they save what they can and are taken for interrupted

    def _write_over(self, facts: dict[str, Any]) -> None:
        """On a full disk, in the place of what was said before; nobody may read half of it, so it
        is short."""
        if facts.get("cause"):
            facts["cause"] = {**facts["cause"], "tail": []}
        try:
            with open(self.keeper, "r+") as out:
                out.write(json.dumps({"time": time.time(), **facts}))
                out.truncate()
        except OSError:
            # Then its silence has to speak: a keeper that is gone without a word is taken for lost
            pass


def is_keeper(said: dict[str, Any]) -> bool:
    """Whether the process that wrote this is still there: same boot, same pid, same start."""
    if said.get("machine") != socket.gethostname() or said.get("boot") != boot_id():
        return False
    return bool(said.get("started")) and start_time(int(said.get("pid", 0))) == said["started"]


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_json(path: Path, value: Any, mode: int = 0o600) -> None:
    """At once, so that a reader never meets half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as out:
        json.dump(value, out)
    draft.replace(path)
