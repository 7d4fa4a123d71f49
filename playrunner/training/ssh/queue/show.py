"""train.queue: the launches that wait for nodes, and taking one out."""

from __future__ import annotations

import sys
import time
from typing import Any

from playrunner.errors import BadInput
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.streams import visible
from playrunner.training.screen.screen import duration
from playrunner.training.ssh.queue.entries import STARTING, Entry, Queue
from playrunner.training.ssh.queue.processes import start_dead_ones

_COLUMNS = ("run", "state", "priority", "nodes", "since", "waits for")


def show_queue(as_json: bool) -> int:
    queue = Queue()
    again = start_dead_ones(queue)
    entries = queue.entries()
    if as_json:
        print_json({"queue": [_described(entry) for entry in entries], "started_again": again})
        return 0
    for name in again:
        sys.stderr.write(f"the process that waited for {name} had ended and is started again\n")
    if not entries:
        print(f"no launch waits; {program()} train.launch --queue adds one")
        return 0
    now = time.time()
    rows = [_COLUMNS, *(_row(entry, now) for entry in entries)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(visible("  ".join(cells).rstrip()))
    return 0


def cancel(name: str, as_json: bool) -> int:
    queue = Queue()
    with queue.lock():
        entry = queue.read(name)
        names = [each.name for each in queue.entries()]
        if entry is None or name not in names:
            raise BadInput(f'--cancel: "{name}" is not in the queue{did_you_mean(name, names)}')
        if entry.state == STARTING and not entry.owner.ended:
            raise BadInput(
                f"--cancel: {name} starts on {', '.join(entry.hosts)} already; stop it with:"
                f" {program()} train.stop --name {name}"
            )
        queue.remove(name)  # its process sees that within a second, and ends
    if as_json:
        print_json({"name": name, "state": "cancelled", "changed": True})
    else:
        print(f"{name} is taken out of the queue")
    return 0


def _described(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "state": entry.state,
        "priority": entry.priority,
        "nodes": entry.nodes,
        "submitted": entry.submitted,
        "hosts": list(entry.hosts),
        "waits_for": entry.note,
        "pid": entry.owner.pid,
    }


def _row(entry: Entry, now: float) -> tuple[str, ...]:
    since = duration(max(0.0, now - entry.submitted))
    note = entry.note or ", ".join(entry.hosts)
    return entry.name, entry.state, str(entry.priority), str(entry.nodes), since, note
