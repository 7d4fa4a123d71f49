"""What a plan costs: its things with their price by the hour, and the same in words: a table, one
line, or data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from playrunner.cloud import prices
from playrunner.frozen import frozen

DAY = 24
NOT_PRICED = (
    "traffic",
    "requests",
    "logs",
    "what the cluster makes by itself (load balancers, disks of claims)",
    "discounts",
)


@frozen
class PlanItem:
    """One line of a plan."""

    thing: str
    role: str
    hourly: float | None  # None: not priced, and `note` says why
    at_most: bool = False
    note: str = ""
    unlisted: bool = False  # it has a price, which is not in the table

    def as_data(self) -> dict[str, Any]:
        hourly = None if self.hourly is None else round(self.hourly, 5)
        return {
            "thing": self.thing,
            "role": self.role,
            "hourly": hourly,
            "at_most": self.at_most,
            "note": self.note,
        }


def hourly(plan: Sequence[PlanItem]) -> float:
    return sum(thing.hourly or 0.0 for thing in plan)


def is_at_most(plan: Sequence[PlanItem]) -> bool:
    return any(thing.at_most for thing in plan)


def unpriced(plan: Sequence[PlanItem]) -> list[PlanItem]:
    return [thing for thing in plan if thing.hourly is None]


def in_one_line(plan: Sequence[PlanItem]) -> str:
    more = unpriced(plan)
    beside = f", beside {len(more)} that are not priced by the hour" if more else ""
    return f"{_total(plan)}{beside} ({_source()})"


def as_table(plan: Sequence[PlanItem]) -> str:
    """Things with their price by hour, day and month; then those without one."""
    counted = [thing for thing in plan if thing.hourly is not None]
    width = max((len(thing.thing) for thing in plan), default=5)
    lines = [f"{'thing':<{width}}  {'$/hour':>9}  {'$/day':>9}  {'$/month':>10}"]
    for thing in counted:
        says = "; ".join(filter(None, ("at most" if thing.at_most else "", thing.note)))
        lines.append(f"{_line(thing.thing, thing.hourly or 0.0, width)}  {says}".rstrip())
    lines.append(_line("total" + " at most" * is_at_most(plan), hourly(plan), width))
    lines += [f"{thing.thing:<{width}}  not priced: {thing.note}" for thing in unpriced(plan)]
    return "\n".join([*lines, f"not priced either: {', '.join(NOT_PRICED)}", _source()])


def as_data(plan: Sequence[PlanItem]) -> dict[str, Any]:
    total = hourly(plan)
    return {
        "plan": [thing.as_data() for thing in plan],
        "hourly": round(total, 5),
        "daily": round(total * DAY, 4),
        "monthly": round(total * prices.HOURS, 2),
        "at_most": is_at_most(plan),
        "unpriced": [thing.thing for thing in unpriced(plan)],
        "not_priced": list(NOT_PRICED),
        "prices": {"dated": prices.DATED, "source": prices.SOURCE},
    }


def dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.1 or not amount else f"${amount:.4f}"


def _line(name: str, price: float, width: int) -> str:
    return f"{name:<{width}}  {price:>9.4f}  {price * DAY:>9.2f}  {price * prices.HOURS:>10.2f}"


def _total(plan: Sequence[PlanItem]) -> str:
    total = hourly(plan)
    return (
        f"{'at most ' * is_at_most(plan)}{dollars(total)} an hour, {dollars(total * DAY)} a day,"
        f" {dollars(total * prices.HOURS)} a month"
    )


def _source() -> str:
    return f"prices of {prices.DATED}: {prices.SOURCE}"
