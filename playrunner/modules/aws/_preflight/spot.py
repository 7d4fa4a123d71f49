"""Spot prices of now, the dearest of the zones; one that is too old to be true is left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from playrunner.modules.aws._preflight.planned import PlannedResources

if TYPE_CHECKING:
    from playrunner.run.context import Context

OLDEST = timedelta(days=90)  # EC2 keeps no older ones


def spot_prices(ctx: Context, planned: PlannedResources) -> dict[str, float]:
    types = sorted({kind for group in planned.machines if group.spot for kind in group.types})
    if not types:
        return {}
    now = datetime.now(UTC)
    history = ctx.aws.read(
        "ec2",
        "describe_spot_price_history",
        InstanceTypes=types,
        ProductDescriptions=["Linux/UNIX"],
        StartTime=now,
    )["SpotPriceHistory"]
    newest: dict[tuple[str, str], tuple[datetime, float]] = {}
    for record in history:
        key, entry = (
            (record["InstanceType"], record["AvailabilityZone"]),
            (record["Timestamp"], float(record["SpotPrice"])),
        )
        if now - entry[0] < OLDEST and entry[0] >= newest.get(key, entry)[0]:
            newest[key] = entry
    dearest: dict[str, float] = {}
    for (kind, _), (_, price) in newest.items():
        dearest[kind] = max(price, dearest.get(kind, 0.0))
    return dearest
