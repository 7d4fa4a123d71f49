"""A node as a machine: how busy its cores are, what is left of memory and disk, and what its kernel
complains of."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


_COMPLAINTS = (
    "out of memory",
    "oom-kill",
    "oom_reaper",
    "nvrm: xid",
    "i/o error",
    "ext4-fs error",
    "xfs error",
    "not responding, still trying",
    "hardware error",
    "blocked for more than",
)
_MOST_LINES = 20


def counters() -> dict[str, int]:
    """What only tells something as a difference: time on the cores, pages swapped in and out."""
    counts: dict[str, int] = {}
    for line in _lines("/proc/stat")[:1]:
        times = [int(word) for word in line.split()[1:]]
        counts.update(
            total=sum(times[:8]), idle=times[3] + times[4], stolen=times[7] if len(times) > 7 else 0
        )
    for line in _lines("/proc/vmstat"):
        name, _, value = line.partition(" ")
        if name in ("pswpin", "pswpout"):
            counts[name] = int(value)
    return counts


def use(before: dict[str, int], after: dict[str, int], seconds: float) -> dict[str, float]:
    """The share of the cores that was busy, the share other machines took, and pages swapped in a
    second."""
    spent = {name: value - before.get(name, 0) for name, value in after.items()}
    total = max(1, spent.get("total", 0))
    return {
        "busy": round(1 - spent.get("idle", 0) / total, 3),
        "stolen": round(spent.get("stolen", 0) / total, 3),
        "swapped": round((spent.get("pswpin", 0) + spent.get("pswpout", 0)) / seconds, 1),
    }


def memory() -> dict[str, Any]:
    """In MiB; inside a container what it may have, not what the machine has."""
    values = {
        line.partition(":")[0]: int(line.split()[1]) // 1024
        for line in _lines("/proc/meminfo")
        if len(line.split()) > 1
    }
    figures: dict[str, Any] = {
        "total_mib": values.get("MemTotal", 0),
        "available_mib": values.get("MemAvailable", 0),
        "swap_used_mib": values.get("SwapTotal", 0) - values.get("SwapFree", 0),
    }
    group = _group()
    limit, current = _number(group, "memory.max"), _number(group, "memory.current")
    if limit:
        figures["total_mib"] = min(figures["total_mib"], limit // 2**20)
        figures["available_mib"] = min(figures["available_mib"], max(0, limit - current) // 2**20)
    for line in _lines(f"{group}/memory.events"):
        if line.startswith("oom_kill "):
            figures["killed_in_group"] = int(line.split()[1])
    return figures


def disk(path: str) -> dict[str, Any]:
    """What is left where the runs are, and in the shared memory that data loaders use."""
    while path and not os.path.isdir(path):
        path = os.path.dirname(path)
    figures: dict[str, Any] = {"path": path or "/"}
    for name, place in (("", path or "/"), ("shm_", "/dev/shm")):
        try:
            there = os.statvfs(place)
        except OSError:
            continue
        figures[f"{name}free_mib"] = there.f_bavail * there.f_frsize // 2**20
        if not name and there.f_files:
            figures["free_files"] = there.f_favail
    return figures


def pressure() -> dict[str, float]:
    """The share of the last ten seconds in which something waited for cores, memory or disk; empty
    on older kernels."""
    shares = {}
    for what in ("cpu", "memory", "io"):
        for line in _lines(f"/proc/pressure/{what}"):
            if line.startswith("some "):
                shares[what] = float(line.split("avg10=")[1].split()[0]) / 100
    return shares


def uptime() -> float:
    lines = _lines("/proc/uptime")
    return float(lines[0].split()[0]) if lines else 0.0


def kernel_complaints(ctx: HostContext, since: float) -> dict[str, Any]:
    """What the kernel's log says about memory, disks and devices since then; `unread` when it may
    not be read."""
    import shutil

    booted = time.time() - uptime()
    for program in (
        ["dmesg"],
        ["journalctl", "-k", "-n", "2000", "--no-pager", "-o", "short-unix"],
    ):
        if not shutil.which(program[0]):
            continue
        try:
            ran = ctx.run(program, timeout=5, env={"LC_ALL": "C"})
        except (Failed, OSError):
            continue
        if ran.rc == 0 and ran.out.strip():
            offset = booted if program[0] == "dmesg" else 0.0
            lines = [
                line
                for line in ran.out.splitlines()
                if _complains(line) and _when(line, offset) >= since
            ]
            return {"lines": lines[-_MOST_LINES:], "unread": ""}
    return {"lines": [], "unread": "the kernel's log may not be read by this login"}


def _complains(line: str) -> bool:
    text = line.lower()
    return any(word in text for word in _COMPLAINTS)


def _when(line: str, offset: float) -> float:
    """When a line was written; one without a time counts as new."""
    word = line.lstrip("[ ").split("]")[0].split()[0] if line.strip("[ ") else ""
    try:
        return float(word) + offset
    except ValueError:
        return time.time()


def _group() -> str:
    """The folder of this login's control group, when there is one with a limit of its own."""
    for line in _lines("/proc/self/cgroup"):
        if line.startswith("0::"):
            path = "/sys/fs/cgroup" + line[3:].rstrip("/")
            return path if os.path.isdir(path) else "/sys/fs/cgroup"
    return "/sys/fs/cgroup"


def _number(folder: str, name: str) -> int:
    lines = _lines(f"{folder}/{name}")
    return int(lines[0]) if lines and lines[0].isdigit() else 0


def _lines(path: str) -> list[str]:
    try:
        with open(path, errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
