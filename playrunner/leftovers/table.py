"""How leftovers are shown: by stack, with their age, owner, expiry and what they cost a month."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from playrunner.cloud import prices
from playrunner.leftovers.expiry import stack_expiry
from playrunner.leftovers.leftover import UNSEEN, Leftover

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"))


def as_table(leftovers: Iterable[Leftover], now: float) -> str:
    """One block of lines for each stack, and what all of it costs."""
    every = list(leftovers)
    lines: list[str] = []
    for name, things in by_stack(every).items():
        dearest_first = sorted(things, key=lambda thing: -(thing.monthly_dollars or 0.0))
        lines += [_heading(name, things, now), *_rows(dearest_first, now), ""]
    if every:
        lines += [f"{_count(every)}, {_cost(every)}", f"prices: {prices.SOURCE}; {prices.DATED}"]
    return "\n".join(lines)


def as_data(leftovers: Iterable[Leftover], now: float) -> dict[str, Any]:
    """The same for `--json`."""
    every = list(leftovers)
    return {
        "clusters": [_stack_data(name, things, now) for name, things in by_stack(every).items()],
        "leftovers": len(every),
        "monthly_dollars": _dollars(every),
        "not_priced": len(_unpriced(every)),
        "prices": {"dated": prices.DATED, "source": prices.SOURCE},
    }


def by_stack(leftovers: Iterable[Leftover]) -> dict[str, list[Leftover]]:
    stacks: dict[str, list[Leftover]] = {}
    for leftover in leftovers:
        stacks.setdefault(leftover.cluster, []).append(leftover)
    return stacks


def _stack_data(name: str, things: Sequence[Leftover], now: float) -> dict[str, Any]:
    end = stack_expiry(things)
    return {
        "cluster": name,
        "who": _distinct(things, "who"),
        "runs": _distinct(things, "run"),
        "since": _since(things),
        "expires": max((thing.expires for thing in things), default=""),
        "expired": end is not None and end <= now,
        "monthly_dollars": _dollars(things),
        "hourly_dollars": round(sum(_hourly(thing) or 0.0 for thing in things), 5),
        "dollars_so_far": round(sum(_so_far(thing, now) or 0.0 for thing in things), 2),
        "not_priced": len(_unpriced(things)),
        "things": [
            {
                **thing.summary(),
                "hourly_dollars": _hourly(thing),
                "dollars_so_far": _so_far(thing, now),
            }
            for thing in things
        ],
    }


def _heading(name: str, things: Sequence[Leftover], now: float) -> str:
    who, since, end = _distinct(things, "who"), _since(things), stack_expiry(things)
    parts = [
        name or "(no stack)",
        ", ".join(sorted({thing.region for thing in things})),
        _count(things),
    ]
    parts += [f"created by {', '.join(who)}"] if who else []
    parts += [f"{_age(since, now)} old"] if since else []
    if end is not None:
        parts.append(
            f"expired {_span(now - end)} ago" if end <= now else f"expires in {_span(end - now)}"
        )
    return "  ".join([*parts, _cost(things)])


def _rows(things: Sequence[Leftover], now: float) -> list[str]:
    cells = [
        (
            thing.kind,
            thing.id.rpartition("/")[2] if thing.id.startswith("arn:") else thing.id,
            thing.name if thing.name != thing.id else "",
            _age(thing.since, now),
            _price(thing),
            "" if thing.by_tag else thing.why,
        )
        for thing in things
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(5)]
    return [
        "  "
        + "  ".join(
            [
                f"{row[0]:<{widths[0]}}",
                f"{row[1]:<{widths[1]}}",
                f"{row[2]:<{widths[2]}}",
                f"{row[3]:>{widths[3]}}",
                f"{row[4]:>{widths[4]}}",
                row[5],
            ]
        ).rstrip()
        for row in cells
    ]


def _price(thing: Leftover) -> str:
    if thing.kind == UNSEEN:
        return ""
    if thing.monthly_dollars is None:
        return "not priced"
    return f"${thing.monthly_dollars:,.2f}" if thing.monthly_dollars else "free"


def _cost(things: Sequence[Leftover]) -> str:
    unpriced = len(_unpriced(things))
    return f"${_dollars(things):,.2f} a month" + (f" and {unpriced} not priced" if unpriced else "")


def _hourly(thing: Leftover) -> float | None:
    return None if thing.monthly_dollars is None else round(thing.monthly_dollars / prices.HOURS, 5)


def _so_far(thing: Leftover, now: float) -> float | None:
    """At its present price since it was created, where both are known."""
    hourly = _hourly(thing)
    try:
        age = now - datetime.fromisoformat(thing.since).timestamp()
    except ValueError:
        return 0.0 if hourly == 0 else None
    return None if hourly is None else round(hourly * max(0.0, age) / 3600, 4)


def _dollars(things: Iterable[Leftover]) -> float:
    return round(sum(thing.monthly_dollars or 0.0 for thing in things), 2)


def _unpriced(things: Iterable[Leftover]) -> list[Leftover]:
    return [thing for thing in things if thing.monthly_dollars is None and thing.kind != UNSEEN]


def _count(things: Sequence[Leftover]) -> str:
    return f"{len(things)} resource{'s' * (len(things) != 1)}"


def _distinct(things: Iterable[Leftover], name: str) -> list[str]:
    return sorted({str(getattr(thing, name)) for thing in things} - {""})


def _since(things: Iterable[Leftover]) -> str:
    return min((thing.since for thing in things if thing.since and thing.owned), default="")


def _age(since: str, now: float) -> str:
    try:
        return _span(now - datetime.fromisoformat(since).timestamp())
    except ValueError:
        return "-"


def _span(seconds: float) -> str:
    """Days above two days, hours above two hours, minutes below."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return "1m"
