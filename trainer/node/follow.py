"""Following a run on one node: `python -m trainer.node.follow RUN-FOLDER HOST OFFSET
[METRICS-OFFSET]`.

Writes one JSON line per thing seen (log text, metrics, the gate's result, what the keeper says) and
renews the run's lease for every line it reads; the line `go` lets a run begin whose network was
proved. It ends when the run has ended on this node, or when whoever follows is gone.
"""

from __future__ import annotations

import json
import os
import selectors
import sys
import time
from pathlib import Path
from typing import Any

from trainer.node.folder import NodeFolder, read_json

LOOK_SECONDS = 0.2
SOON_SECONDS, SOON_FOR_SECONDS = 0.05, 60.0  # at first a run waits for its gate to be read
BEAT_SECONDS = 1.0  # whoever follows takes longer silence for a broken connection
_MOST_BYTES = 1 << 16


def main() -> int:
    folder = NodeFolder(Path(sys.argv[1]), sys.argv[2])
    log, metrics = int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else -1
    stdin = sys.stdin.fileno()
    os.set_blocking(stdin, False)
    said: dict[str, Any] = {}
    gate, spoken, begun = False, 0.0, time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(stdin, selectors.EVENT_READ)
        while True:
            if selector.select(
                SOON_SECONDS if time.monotonic() - begun < SOON_FOR_SECONDS else LOOK_SECONDS
            ):
                data = os.read(stdin, 4096)
                if not data:
                    return 0
                if b"go" in data:
                    (folder.path / "go").touch()
                folder.lease.touch()  # needs no room on a disk that is full
            if time.monotonic() - spoken >= BEAT_SECONDS:
                spoken = time.monotonic()
                _say({"beat": 1})
            keeper = (
                folder.read_keeper()
            )  # before the log: what it wrote last is then certainly read
            log = _pass_on("log", folder.log, log)
            if metrics >= 0:
                metrics = _pass_on("metrics", folder.output / "metrics.jsonl", metrics)
            gate = gate or _tell_gate(folder)
            if keeper != said:
                said = keeper
                _say({"keeper": keeper})
            if keeper.get("state") in ("finished", "failed", "stopped", "lost"):
                return 0


def _pass_on(kind: str, path: Path, offset: int) -> int:
    """What was added to a file since the last look; whole lines only."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < offset:
                offset = 0  # it was rewritten: a resumed run drops the steps it takes again
                _say({kind: "", "again": True})
            file.seek(offset)
            while data := file.read(_MOST_BYTES):
                whole = data.rfind(b"\n") + 1
                if not whole and len(data) < _MOST_BYTES:
                    break
                data = data[:whole] or data
                offset += len(data)
                _say({kind: data.decode(errors="replace"), "offset": offset})
                file.seek(offset)
    except OSError:
        pass  # not there yet
    return offset


def _tell_gate(folder: NodeFolder) -> bool:
    """What the network proved to be, once it is known."""
    result = read_json(folder.path / "gate.json")
    if result:
        _say({"gate": result})
    return bool(result)


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        os._exit(0)
