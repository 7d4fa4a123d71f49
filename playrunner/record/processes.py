"""Processes of this machine, by which runs know one another: whether one is still there, or started
this one."""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path


def is_ancestor(pid: object) -> bool:
    """Whether a process is this one, or started it."""
    found = os.getpid()
    while found > 1 and found != pid:
        found = _parent(found)
    return found > 1


def is_running(pid: int, started: str) -> bool:
    """Whether the process that had this id at that time is still there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return started == started_at(pid)


def started_at(pid: int) -> str:
    """When a process began, in whatever unit this machine counts; empty where that is not known."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state == "Z" else fields[18]


@cache
def machine() -> str:
    """This machine since it was started, as its processes count: containers that share a host name
    are told apart."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    try:
        since = f"{boot.read_text().strip()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        import uuid

        since = str(uuid.getnode())
    return hashlib.sha256(f"{socket.gethostname()} {since}".encode()).hexdigest()[:16]


def _parent(pid: int) -> int:
    """0 if it cannot be found."""
    import subprocess

    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        output = subprocess.run(
            ["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout.strip()
        return int(output) if output.isdigit() else 0
