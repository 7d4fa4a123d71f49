"""The price table of the runner (playrunner/prices.json), to rehearse what a plan costs."""

from __future__ import annotations

import json
from typing import Any

from playrunner.project import PACKAGE

_TABLE = json.loads((PACKAGE / "prices.json").read_text())
_AWS = _TABLE["aws"]

DATED: str = _TABLE["dated"]
REGIONS: tuple[str, ...] = tuple(_AWS["regions"])
INSTANCE_HOUR: dict[str, float] = _AWS["instance_hour"]


def table() -> dict[str, Any]:
    """All of it, with its date and source."""
    return {
        "currency": "USD",
        "dated": DATED,
        "source": _TABLE["source"],
        "instance_hour": INSTANCE_HOUR,
        "spot_share": _AWS["spot_share"],
        "other": _other(),
    }


def _other() -> dict[str, float]:
    """Everything but machines, under names as AWS's own price lists have them."""
    hour = _AWS["eks_control_plane_hour"]
    lustre = {
        f"fsx.lustre.{deployment.lower()}{'' if speed == '0' else f'.{speed}'}.gb_month": price
        for deployment, by_speed in _AWS["lustre_gib"].items()
        for speed, price in by_speed.items()
    }
    return {
        "eks.cluster.hour": hour,
        "eks.cluster.extended_support.hour": round(hour + _AWS["eks_extended_support_hour"], 4),
        "ec2.nat_gateway.hour": _AWS["nat_gateway_hour"],
        "ec2.public_ipv4.hour": _AWS["public_ipv4_hour"],
        "elb.load_balancer.hour": _AWS["load_balancer_hour"]["application"],
        "ebs.gp3.gb_month": _AWS["volume_gib"]["gp3"],
        "efs.standard.gb_month": _AWS["efs_gib"]["regional"],
        **lustre,
        "s3.standard.gb_month": _AWS["bucket_gib"],
        "ecr.storage.gb_month": _AWS["image_gib"],
        "logs.storage.gb_month": _AWS["log_gib"],
    }
