"""A node's processes, read from /proc: what each one does, and how much of the cores it takes
between two looks."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SYN_SENT, _ESTABLISHED = "02", "01"
# The kernel has repeated itself this often on one connection: the other end is not there
_RETRANSMITS = 3
_TICKS = os.sysconf("SC_CLK_TCK")


def ticks() -> dict[int, int]:
    """The time each process has spent on a core so far, in the kernel's ticks."""
    ticks_by_pid = {}
    for name in os.listdir("/proc"):
        fields = _stat(int(name)) if name.isdigit() else None
        if fields:
            ticks_by_pid[int(name)] = int(fields[11]) + int(fields[12])
    return ticks_by_pid


def cores_used(before: dict[int, int], after: dict[int, int], seconds: float) -> dict[int, float]:
    """How many cores each process kept busy between two looks."""
    return {
        pid: round((count - before[pid]) / _TICKS / seconds, 2)
        for pid, count in after.items()
        if pid in before
    }


def ranks(pids: list[int]) -> dict[int, int]:
    """Which of these processes trains as which rank; what a rank starts for itself carries its
    number too and is left out."""
    numbers = {}
    for pid in pids:
        number = environment(pid).get("RANK", "")
        if number.isdigit():
            numbers[pid] = int(number)
    return {pid: rank for pid, rank in numbers.items() if parent(pid) not in numbers}


def described(pid: int) -> dict[str, Any] | None:
    """What a process does right now; None when it is gone."""
    fields = _stat(pid)
    if fields is None:
        return None
    inodes = _sockets(pid)
    waiting, unanswered = _trouble(pid, inodes)
    return {
        "pid": pid,
        "name": _first_line(f"/proc/{pid}/comm"),
        "state": fields[0],
        "threads": int(fields[17]),
        "rss_mib": round(int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20),
        "wchan": _first_line(f"/proc/{pid}/wchan"),
        "sockets": len(inodes),
        "connecting": waiting,
        "unanswered": unanswered,
    }


def environment(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return {name: value for name, _, value in (entry.partition("=") for entry in entries)}


def name(pid: int) -> str:
    """What a process is called; nothing when it is gone."""
    return _first_line(f"/proc/{pid}/comm")


def started(pid: int) -> str:
    """When a process started, in the kernel's ticks; nothing when it is gone."""
    fields = _stat(pid)
    return fields[19] if fields and fields[0] != "Z" else ""


def parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _stat(pid: int) -> list[str] | None:
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def _sockets(pid: int) -> set[str]:
    sockets = set()
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                link = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue  # closed meanwhile
            if link.startswith("socket:["):
                sockets.add(link[8:-1])
    except OSError:
        pass  # gone, or another user's
    return sockets


def _trouble(pid: int, inodes: set[str]) -> tuple[list[str], list[str]]:
    """Addresses a process cannot connect to, and those that no longer acknowledge what it sends."""
    waiting, unanswered = [], []
    for kind in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pid}/net/{kind}") as table:
                rows = [line.split() for line in table][1:]
        except OSError:
            continue
        for row in rows:
            if len(row) < 10 or row[9] not in inodes:
                continue
            if row[3] == _SYN_SENT:
                waiting.append(_address(row[2]))
            elif row[3] == _ESTABLISHED and int(row[6], 16) >= _RETRANSMITS:
                unanswered.append(_address(row[2]))
    return sorted(set(waiting)), sorted(set(unanswered))


def _address(text: str) -> str:
    """The kernel's spelling of an address and port, as people write it."""
    import socket
    import sys

    packed, _, port = text.partition(":")
    words = [bytes.fromhex(packed[start : start + 8]) for start in range(0, len(packed), 8)]
    raw = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    if len(raw) == 4:
        return f"{socket.inet_ntop(socket.AF_INET, raw)}:{int(port, 16)}"
    if raw.startswith(bytes(10) + b"\xff\xff"):
        return f"{socket.inet_ntop(socket.AF_INET, raw[12:])}:{int(port, 16)}"
    return f"[{socket.inet_ntop(socket.AF_INET6, raw)}]:{int(port, 16)}"


def _first_line(path: str) -> str:
    try:
        with open(path, errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""
