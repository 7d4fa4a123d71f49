"""Which instance types a zone offers: moto's table, and the newer types it does not list."""

from __future__ import annotations

from typing import Any

from sandbox.aws import network
from sandbox.aws.wire import Call, page

# type: region: ids of the zones that offer it
ALSO_OFFERED = {
    "trn2.48xlarge": {"us-east-2": ("use2-az3",), "us-west-2": ("usw2-az4",)},
    "trn2u.48xlarge": {"us-east-2": ("use2-az3",)},
}


def describe_instance_type_offerings(call: Call) -> dict[str, Any]:
    kind = call.params.get("LocationType") or "region"
    filters = {one["Name"]: one["Values"] for one in call.params.get("Filters") or []}
    ec2 = network.backend(call.region_name)
    types = filters.pop("instance-type", None)
    found = list(ec2.describe_instance_type_offerings(kind, filters))
    places = filters.get("location")
    also = [one for one in _also(call, kind) if not places or one["Location"] in places]
    found += [one for one in also if one not in found]
    if types:
        found = [one for one in found if _matches(one["InstanceType"], types)]
    return page(found, call.params, "InstanceTypeOfferings", "MaxResults", "NextToken")


def _also(call: Call, kind: str) -> list[dict[str, str]]:
    names = {zone.zone_id: zone.name for zone in network.backend(call.region_name).describe_availability_zones()}
    found = []
    for instance_type, regions in ALSO_OFFERED.items():
        zone_ids = regions.get(call.region_name, ())
        places = {"region": [call.region_name] if zone_ids else [], "availability-zone-id": list(zone_ids),
                  "availability-zone": [names[zone_id] for zone_id in zone_ids if zone_id in names]}  # fmt: skip
        found += [{"InstanceType": instance_type, "LocationType": kind, "Location": place} for place in places.get(kind, [])]
    return found


def _matches(name: str, patterns: list[str]) -> bool:
    from fnmatch import fnmatchcase

    return any(fnmatchcase(name, pattern) for pattern in patterns)


ANSWERS = {"DescribeInstanceTypeOfferings": describe_instance_type_offerings}
