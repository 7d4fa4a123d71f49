"""How a rate, a time or a size is written."""

from __future__ import annotations


def rate_text(gbps: float) -> str:
    return (
        f"{gbps:.1f} Gbit/s"
        if gbps >= 10
        else f"{gbps:.2f} Gbit/s"
        if gbps >= 0.1
        else f"{gbps * 1000:.1f} Mbit/s"
    )


def time_text(microseconds: float) -> str:
    return f"{microseconds:.0f} us" if microseconds < 1000 else f"{microseconds / 1000:.1f} ms"


def size_text(size: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}" if size % unit == 0 else f"{size / unit:.1f} {name}"
    return f"{size} B"
