"""Filters between dates and their texts, and the `now` function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jinja2


def to_datetime(text: str, format: str = "%Y-%m-%d %H:%M:%S") -> Any:
    """A date from its text; the difference of two has `days` and `total_seconds()`."""
    from datetime import datetime

    return datetime.strptime(text, format)


def strftime(format: str, second: Any = None, utc: bool = False) -> str:
    """A moment (seconds since 1970; now if not given) as text."""
    import time

    if second is not None:
        try:
            second = float(second)
        except (TypeError, ValueError):
            raise ValueError(f"{second!r} is not a number of seconds since 1970") from None
    return time.strftime(format, time.gmtime(second) if utc else time.localtime(second))


@jinja2.pass_context
def now(context: Any, utc: bool = False, fmt: str | None = None) -> Any:
    """This moment, or its text in a format: when the steps before this one are done."""
    from datetime import UTC, datetime

    if context.scope is not None:
        context.scope.wait_for_steps()

    moment = datetime.now(UTC).replace(tzinfo=None) if utc else datetime.now()
    return moment.strftime(fmt) if fmt else moment


READ_CLOCK = frozenset({"strftime"})  # of the moment when the steps before are done
FILTERS: dict[str, Callable[..., Any]] = {"to_datetime": to_datetime, "strftime": strftime}
