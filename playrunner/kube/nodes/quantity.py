"""Amounts as Kubernetes writes them: 500m, 5120Mi, 2k."""

from __future__ import annotations

import re

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|[kMGTPE]i?|Ki)?")
_UNITS = {
    "m": 0.001,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
    "Ei": 2.0**60,
}


def amount(quantity: object) -> float | None:
    """The number that is meant; None for what is no quantity."""
    found = _QUANTITY.fullmatch(str(quantity))
    return None if found is None else float(found[1]) * _UNITS.get(found[2] or "", 1)
