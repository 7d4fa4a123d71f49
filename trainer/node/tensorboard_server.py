"""TensorBoard of one run, on the node: `python -m trainer.node.tensorboard_server OUTPUT-FOLDER`.

Prints `{"port": N}` once it serves on loopback, and exits at the end of its input. For a run that
wrote no event files they are made from its metrics, in a temporary folder. Unlike the rest of this
package it needs more than the standard library: tensorboard, which this interpreter must have.
"""

from __future__ import annotations

import json
import os
import selectors
import sys
import tempfile
from pathlib import Path
from typing import Any

LOOK_SECONDS = 2.0
BAD_INPUT = 5


def main() -> int:
    output = Path(sys.argv[1])
    try:
        from tensorboard import program
    except ImportError as error:
        return _refuse(
            f"tensorboard is not installed ({error}); install it with: {sys.executable} -m pip"
            " install tensorboard"
        )
    written = any(output.glob("tensorboard/**/*tfevents*"))
    if not written and not (output / "metrics.jsonl").exists():
        return _refuse(f"{output} has no metrics yet; has the run taken a step?")
    with tempfile.TemporaryDirectory(prefix="board-") as scratch:
        events = None if written else Events(output / "metrics.jsonl", Path(scratch))
        board = program.TensorBoard()
        folder = output / "tensorboard" if written else Path(scratch)
        board.configure(
            argv=[
                "tensorboard",
                "--logdir",
                str(folder),
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--load_fast",
                "false",
                "--reload_interval",
                "5",
            ]
        )
        port = int(board.launch().rstrip("/").rpartition(":")[2])
        _send({"port": port, "folder": str(folder), "made": not written})
        _serve_until_input_ends(events)
    return 0


class Events:
    """Event files made from metrics, as they are written."""

    def __init__(self, metrics: Path, folder: Path) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self.metrics, self.read = metrics, 0
        self.writer = EventFileWriter(str(folder))
        self.catch_up()

    def catch_up(self) -> None:
        try:
            with self.metrics.open("rb") as file:
                file.seek(self.read)
                data = file.read()
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        for line in data[:whole].splitlines():
            self._add(json.loads(line))
        self.read += whole
        self.writer.flush()

    def _add(self, record: dict[str, Any]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        numbers = {
            key: value
            for key, value in record.items()
            if isinstance(value, float | int) and key not in ("step", "time")
        }
        values = [
            Summary.Value(tag=key if "/" in key else f"train/{key}", simple_value=value)
            for key, value in numbers.items()
        ]
        self.writer.add_event(
            Event(
                wall_time=record.get("time", 0), step=record["step"], summary=Summary(value=values)
            )
        )


def _serve_until_input_ends(events: Events | None) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            if selector.select(LOOK_SECONDS) and not os.read(sys.stdin.fileno(), 4096):
                return
            if events:
                events.catch_up()


def _refuse(reason: str) -> int:
    _send({"error": reason})
    return BAD_INPUT


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # its threads never end
