"""Spot prices of now, the dearest of the zones; one that is too old to be true is left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from playrunner.modules.aws._preflight.planned import Wish

OLDEST = timedelta(days=90)  # EC2 keeps no older ones


def spot_prices(ctx: Any, wish: Wish) -> dict[str, float]:
    types = sorted({kind for group in wish.machines if group.spot for kind in group.types})
    if not types:
        return {}
    now = datetime.now(UTC)
    told = ctx.aws.read(
        "ec2",
        "describe_spot_price_history",
        InstanceTypes=types,
        ProductDescriptions=["Linux/UNIX"],
        StartTime=now,
    )["SpotPriceHistory"]
    newest: dict[tuple[str, str], tuple[datetime, float]] = {}
    for one in told:
        key, entry = (
            (one["InstanceType"], one["AvailabilityZone"]),
            (one["Timestamp"], float(one["SpotPrice"])),
        )
        if now - entry[0] < OLDEST and entry[0] >= newest.get(key, entry)[0]:
            newest[key] = entry
    found: dict[str, float] = {}
    for (kind, _), (_, price) in newest.items():
        found[kind] = max(price, found.get(kind, 0.0))
    return found
