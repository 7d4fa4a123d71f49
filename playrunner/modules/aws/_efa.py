"""EFA: how many cards for fast traffic between nodes each instance type has, and how they are
numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playrunner.run.context import Context

# The most EFA interfaces of each type; types that are not here are looked up at AWS.
CARDS = {
    **{f"g4dn.{size}": 1 for size in ("8xlarge", "12xlarge", "16xlarge", "metal")},
    **{
        f"{family}.{size}": 1
        for family in ("g5", "g6")
        for size in ("8xlarge", "12xlarge", "16xlarge", "24xlarge", "48xlarge")
    },
    **{f"g6e.{size}": 1 for size in ("8xlarge", "12xlarge", "16xlarge")},
    "g6e.24xlarge": 2,
    "g6e.48xlarge": 4,
    "p3dn.24xlarge": 1,
    "p4d.24xlarge": 4,
    "p4de.24xlarge": 4,
    "p5.48xlarge": 32,
    "p5e.48xlarge": 32,
    "p5en.48xlarge": 16,
    "p6-b200.48xlarge": 8,
    "trn1.32xlarge": 8,
    "trn1n.32xlarge": 16,
    "trn2.48xlarge": 16,
    "trn2u.48xlarge": 16,
}
# How many of the first cards have a device index of their own, where it is not just card 0; all
# others are device 1.
_OWN_DEVICE = {"trn1n.32xlarge": 4}


def interfaces(instance_type: str, cards: int, group_ids: list[str]) -> list[dict[str, Any]]:
    """A launch template's network interfaces: one EFA card each."""
    own = _OWN_DEVICE.get(instance_type, 1)
    return [
        {
            "NetworkCardIndex": card,
            "DeviceIndex": card if card < own else 1,
            "InterfaceType": "efa",
            "Groups": group_ids,
            "DeleteOnTermination": True,
        }
        for card in range(cards)
    ]


def cards_of(ctx: Context, instance_type: str) -> int:
    """How many EFA cards a type can have; none for a type without EFA."""
    if instance_type in CARDS:
        return CARDS[instance_type]
    described = ctx.aws.read("ec2", "describe_instance_types", InstanceTypes=[instance_type])[
        "InstanceTypes"
    ][0]
    return int(
        (described.get("NetworkInfo", {}).get("EfaInfo") or {}).get("MaximumEfaInterfaces", 0)
    )
