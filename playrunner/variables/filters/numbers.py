"""Filters on numbers: logarithms, powers, roots, and amounts with units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_UNITS = "BKMGTPEZY"


def log(value: Any, base: Any = None) -> float:
    import math

    if base is None:
        return math.log(value)
    return math.log10(value) if base == 10 else math.log(value, base)


def power(value: Any, exponent: Any) -> float:
    import math

    return math.pow(value, exponent)


def root(value: Any, base: Any = 2) -> float:
    import math

    return math.sqrt(value) if base == 2 else math.pow(value, 1.0 / float(base))


def human_readable(size: Any, isbits: bool = False, unit: str | None = None) -> str:
    """An amount of bytes with a unit: 1.43 MB."""
    if not isinstance(size, int | float):
        raise TypeError(f"needs a number, not {size!r}; `| int` makes one")
    wanted = unit.upper()[:1] if unit else None
    letter = wanted or next((each for each in reversed(_UNITS) if size >= _times(each)), "B")
    if letter not in _UNITS:
        raise ValueError(f"there is no unit {unit!r}; the units are {', '.join(_UNITS)}")
    amount = size / _times(letter)
    if letter == "B":
        return f"{amount:.2f} {'bits' if isbits else 'Bytes'}"
    return f"{amount:.2f} {letter}{'b' if isbits else 'B'}"


def human_to_bytes(size: Any, default_unit: str | None = None, isbits: bool = False) -> int:
    """The number of bytes in a text such as 10M or 1.5 GB."""
    import re

    match = re.match(r"\s*(\d*\.?\d*)\s*([A-Za-z]+)?", str(size))
    number, unit = match.groups() if match else ("", None)
    if not number or number == ".":
        raise ValueError(f"{size!r} does not start with a number")
    unit = unit or default_unit
    if not unit:
        return round(float(number))
    ending = "b" if isbits else "B"
    letter = unit[0].upper()
    well_formed = len(unit) == 1 or (len(unit) == 2 and unit[1] == ending and letter != "B")
    if letter not in _UNITS or not well_formed:
        raise ValueError(
            f"{size!r} has no known unit; write one of {', '.join(_UNITS)}, or K{ending},"
            f" M{ending} ..."
        )
    return round(float(number) * _times(letter))


FILTERS: dict[str, Callable[..., Any]] = {
    "log": log,
    "pow": power,
    "root": root,
    "human_readable": human_readable,
    "human_to_bytes": human_to_bytes,
}


def _times(letter: str) -> int:
    return 1 << 10 * _UNITS.index(letter)
