"""Amounts of resources, as `500m`, `2Gi` or `1e3`: their value, and the one way a server writes
them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?")


def value_of(text: Any) -> Decimal:
    """The number meant; ValueError when it is not a quantity."""
    number, suffix = _parts(text)
    if suffix in _BINARY:
        return number * Decimal(1024) ** _BINARY[suffix]
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    return number * Decimal(10) ** exponent


def canonical(text: Any) -> str:
    """The shortest spelling without a fraction, in the family of units it was given in."""
    value = value_of(text)
    suffix = _parts(text)[1]
    if suffix in _BINARY and abs(value) >= 1024 and value == value.to_integral():
        for unit, power in reversed(_BINARY.items()):
            if value % (1024**power) == 0:
                return f"{int(value // 1024**power)}{unit}"
    if value == 0:
        return "0"
    exponential = suffix not in _DECIMAL and suffix not in _BINARY
    for unit, exponent in reversed(_DECIMAL.items()):
        mantissa = value / Decimal(10) ** exponent
        if mantissa == mantissa.to_integral():
            return f"{int(mantissa)}{(f'e{exponent}' if exponent else '') if exponential else unit}"
    return f"{int((value * 10**9).to_integral(rounding='ROUND_UP'))}n"


def _parts(text: Any) -> tuple[Decimal, str]:
    match = _FORM.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(
            "quantities must match the regular expression"
            " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    return Decimal(match[1]), match[2] or ""
