"""Templates: everything is escaped, and control characters are shown as what they are."""

from __future__ import annotations

import math
import time
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from playrunner.text.streams import visible

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SPANS = ((86400, "d"), (3600, "h"), (60, "min"))


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    made.filters.update(
        clock=clock, span=span, size=size, dollars=dollars, figure=figure, age=age, plural=plural
    )
    return made


def render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)


def shown(value: Any) -> Any:
    """A value as a page shows it: text from hosts may hold characters that reorder or hide it."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def clock(at: float | None) -> str:
    if not at:
        return "-"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return "-"


def span(seconds: float | None) -> str:
    if seconds is None or not math.isfinite(seconds):
        return "-"
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    for length, unit in _SPANS:
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def age(at: float | None) -> str:
    return f"{span(max(0.0, time.time() - at))} ago" if at else "-"


def size(number: int | None) -> str:
    if number is None:
        return "-"
    for least, unit in _SIZES:
        if number >= least:
            return f"{number / least:.1f} {unit}"
    return f"{number} B"


def dollars(amount: float | None) -> str:
    if amount is None:
        return "-"
    return f"${amount:,.2f}" if abs(amount) >= 0.1 or not amount else f"${amount:.4f}"


def figure(number: Any, digits: int = 4) -> str:
    if isinstance(number, bool) or not isinstance(number, int | float):
        return "-" if number is None else str(number)
    if not math.isfinite(number):
        return "-"
    if isinstance(number, int) or abs(number) >= 10000:
        return f"{number:,.0f}"
    return f"{number:.{digits}g}"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
