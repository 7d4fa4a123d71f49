"""What tells a process from a later one with the same pid; cheap to import, since followers read
it."""

from __future__ import annotations

from pathlib import Path

_PROC = Path("/proc")


def start_time(pid: int) -> str:
    """When a process started, in the kernel's ticks: a pid with another start time is another
    process."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def boot_id() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
