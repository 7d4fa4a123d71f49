"""Following a run on one node: `python -m trainer.node.follow RUN-FOLDER HOST OFFSET
[METRICS-OFFSET]`.

Writes one JSON line per event (log text, metrics, the network check's result, the supervisor's
status) and renews the run's lease for every line it reads; the line `go` says that the network
check has passed, which a node that joins an elastic run later need not repeat. It ends when the run
has ended on this node, or at the end of input.
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
BEAT_SECONDS = 1.0  # the follower takes longer silence for a broken connection
_MOST_BYTES = 1 << 16


def main() -> int:
    folder = NodeFolder(Path(sys.argv[1]), sys.argv[2])
    log, metrics = int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else -1
    stdin = sys.stdin.fileno()
    os.set_blocking(stdin, False)
    sent_status: dict[str, Any] = {}
    gate_sent, sent_at = False, 0.0
    with selectors.DefaultSelector() as selector:
        selector.register(stdin, selectors.EVENT_READ)
        while True:
            if selector.select(LOOK_SECONDS):
                data = os.read(stdin, 4096)
                if not data:
                    return 0
                if b"go" in data:
                    (folder.path / "go").touch()
                folder.lease.touch()  # needs no room on a disk that is full
            if time.monotonic() - sent_at >= BEAT_SECONDS:
                sent_at = time.monotonic()
                _send({"beat": 1})
            status = folder.read_status()  # before the log, so that its last lines are read
            log = _send_new_lines("log", folder.log, log)
            if metrics >= 0:
                metrics = _send_new_lines("metrics", folder.output / "metrics.jsonl", metrics)
            gate_sent = gate_sent or _send_gate(folder)
            if status != sent_status:
                sent_status = status
                _send({"supervisor": status})
            if status.get("state") in ("finished", "failed", "stopped", "lost"):
                return 0


def _send_new_lines(kind: str, path: Path, offset: int) -> int:
    """Send what was appended to a file since `offset`, whole lines only; the new offset."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < offset:
                offset = 0  # it was rewritten: a resumed run drops the steps it takes again
                _send({kind: "", "again": True})
            file.seek(offset)
            while data := file.read(_MOST_BYTES):
                whole = data.rfind(b"\n") + 1
                if not whole and len(data) < _MOST_BYTES:
                    break
                data = data[:whole] or data
                offset += len(data)
                _send({kind: data.decode(errors="replace"), "offset": offset})
                file.seek(offset)
    except OSError:
        pass  # not there yet
    return offset


def _send_gate(folder: NodeFolder) -> bool:
    """The network check's result, once there is one."""
    result = read_json(folder.path / "gate.json")
    if result:
        _send({"gate": result})
    return bool(result)


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        os._exit(0)
