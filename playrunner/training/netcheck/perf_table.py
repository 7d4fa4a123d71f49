"""What all_reduce_perf of nccl-tests prints, read: bandwidth by size, wrong values, the devices at
work, and NCCL's own words.

`python -m trainer.netcheck.all_reduce_perf` prints the same table where there is no nccl-tests, so
both are read here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import field

from playrunner.frozen import frozen

_PREFIX = re.compile(r"^\[\d+,\d+\]<std(?:out|err|diag)>:\s?")  # mpirun's --tag-output
# size, elements, type, reduction, root; then twice (out of place, in place): time in us, algbw,
# busbw in GB/s, wrong values
_FIGURES = r"\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\d+|N/A)"
_ROW = re.compile(rf"^\s*(\d+)\s+\d+\s+\w+\s+\w+\s+-?\d+{_FIGURES}(?:{_FIGURES})?\s*$")
_DEVICE = re.compile(r"^#\s+Rank\s+\d+\s+.*\bon\s+(\S+)\s+device\s+\d+")
_OUT_OF_BOUNDS = re.compile(r"^#\s*Out of bounds values\s*:\s*(\d+)")
_AVERAGE = re.compile(r"^#\s*Avg bus bandwidth\s*:\s*([\d.]+)")
_PROVIDER = re.compile(r"NET/OFI Selected Provider is (\w+)", re.IGNORECASE)
_CARDS = re.compile(r"NET/OFI .*\(found (\d+) nics?\)", re.IGNORECASE)
_OTHER_NET = re.compile(r"NET/(Socket|IB)\s*:\s*Using", re.IGNORECASE)


@frozen
class Row:
    """One size, by the better of its two ways (out of place, in place)."""

    bytes: int
    microseconds: float
    bus_gbytes: float  # GB/s that each link carries
    wrong: int


@frozen
class Measured:
    """A whole run of it."""

    rows: tuple[Row, ...] = ()
    devices: Mapping[str, int] = field(default_factory=dict)  # ranks by host
    out_of_bounds: int | None = None  # None: the program did not come to its end
    average: float | None = None
    provider: str = ""  # libfabric's: efa, tcp, ...
    cards: int | None = None  # network cards that NCCL found, on the node with the fewest
    transport: str = ""  # what NCCL used instead of libfabric: socket, ib

    @property
    def wrong(self) -> int:
        return max(sum(row.wrong for row in self.rows), self.out_of_bounds or 0)


def read_table(text: str) -> Measured:
    lines = [_PREFIX.sub("", line) for line in text.splitlines()]
    rows = [_row(match) for line in lines if (match := _ROW.match(line))]
    cards = [int(each) for each in _CARDS.findall(text)]
    bounds, average = _last(_OUT_OF_BOUNDS, lines), _last(_AVERAGE, lines)
    providers, others = _PROVIDER.findall(text), _OTHER_NET.findall(text)
    return Measured(
        tuple(rows),
        dict(Counter(match[1] for line in lines if (match := _DEVICE.match(line)))),
        int(bounds) if bounds else None,
        float(average) if average else None,
        # One node that fell back to another provider is slower than all others are fast.
        next(
            (each.lower() for each in providers if each.lower() != "efa"),
            "efa" if providers else "",
        ),
        min(cards) if cards else None,
        others[0].lower() if others else "",
    )


def _row(match: re.Match[str]) -> Row:
    ways = [match.groups()[1:5], match.groups()[5:9]]
    figures = [
        (float(time), float(bus), 0 if wrong == "N/A" else int(wrong))
        for time, _, bus, wrong in ways
        if time
    ]
    best = max(figures, key=lambda each: each[1])
    return Row(int(match[1]), best[0], best[1], sum(each[2] for each in figures))


def _last(pattern: re.Pattern[str], lines: list[str]) -> str:
    return next((found[1] for line in reversed(lines) if (found := pattern.match(line))), "")
