"""What others have measured: bus bandwidth of all_reduce_perf on machines of a kind, to compare
with."""

from __future__ import annotations

from collections.abc import Sequence

from playrunner.frozen import frozen
from playrunner.training.netcheck.perf_table import Row

GOOD_SHARE = 0.8  # of a reference; runs of the same machines differ by some percent


@frozen
class Reference:
    """Two machines of the kind, all their cards at work."""

    bytes: int
    bus_gbytes: float


# The four cards of P4d and P4de are the same; P5 has 32.
_KNOWN = {
    "p4d.24xlarge": Reference(2 * 10**9, 78.3),
    "p4de.24xlarge": Reference(2 * 10**9, 78.3),
    "p5.48xlarge": Reference(16 * 10**9, 487.0),
}


def reference(instance_type: str) -> Reference | None:
    return _KNOWN.get(instance_type)


def comparable(rows: Sequence[Row], known: Reference) -> Row | None:
    """The figure to hold against it: bandwidth grows with the size, so smaller ones say nothing."""
    return max(
        (row for row in rows if row.bytes >= known.bytes),
        key=lambda row: row.bus_gbytes,
        default=None,
    )
