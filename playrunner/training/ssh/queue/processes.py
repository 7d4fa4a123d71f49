"""The processes that wait: started in sessions of their own, and again where they died."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace

from playrunner.project import CODE
from playrunner.record.processes import machine, started_at
from playrunner.training.ssh.queue.entries import (
    FAILED,
    STARTING,
    WAITING,
    Entry,
    Owner,
    Queue,
    waiting_again,
)

MOST_ATTEMPTS = 5  # one that dies again and again would be started for ever
_children: list[subprocess.Popen[bytes]] = []  # so that those that ended are not left behind


def start(queue: Queue, entry: Entry) -> Entry:
    """A process that waits for this entry. The lock is held."""
    _children[:] = [child for child in _children if child.poll() is None]
    paths = [str(CODE), os.environ.get("PYTHONPATH", "")]
    own = {
        "PLAYRUNNER_QUEUED_BY": entry.program,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    descriptor = os.open(queue.log(entry.name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "playrunner.training.ssh.queue.waiter", entry.name],
            cwd=entry.folder if os.path.isdir(entry.folder) else None,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **own},
            start_new_session=True,
        )
    _children.append(child)
    owner = Owner(child.pid, started_at(child.pid), socket.gethostname(), machine())
    return queue.write(replace(entry, owner=owner, attempts=entry.attempts + 1))


def start_dead_ones(queue: Queue) -> list[str]:
    """The names of those whose process had died and was started again."""
    if not any(_is_dead(entry) for entry in queue.entries()):
        return []
    names = []
    with queue.lock():
        for entry in queue.entries():
            if not _is_dead(entry):
                continue
            if entry.attempts >= MOST_ATTEMPTS:
                note = f"its process ended {entry.attempts} times; see {queue.log(entry.name)}"
                queue.write(replace(entry, state=FAILED, hosts=(), taken=(), note=note))
                continue
            start(queue, waiting_again(entry, ""))
            names.append(entry.name)
    return names


def _is_dead(entry: Entry) -> bool:
    return entry.state in (WAITING, STARTING) and entry.owner.ended
