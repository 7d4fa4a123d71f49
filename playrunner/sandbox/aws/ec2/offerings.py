"""Which instance types a zone offers: moto's table, and the newer types it does not list."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

from playrunner.sandbox.aws.api.wire import AwsError, Call, page
from playrunner.sandbox.aws.ec2 import network

# type: region: ids of the zones that offer it
ALSO_OFFERED = {
    "trn2.48xlarge": {"us-east-2": ("use2-az3",), "us-west-2": ("usw2-az4",)},
    "trn2u.48xlarge": {"us-east-2": ("use2-az3",)},
}


def describe_instance_type_offerings(call: Call) -> dict[str, Any]:
    """As moto's, but with patterns in the filters and pages of the size asked for."""
    kind = call.params.get("LocationType") or "region"
    filters = {
        offering["Name"]: offering["Values"] for offering in call.params.get("Filters") or []
    }
    unknown = set(filters) - {"location", "instance-type"}
    if unknown:
        raise AwsError("InvalidParameterValue", f"The filter '{min(unknown)}' is invalid")
    offerings = [
        offering
        for offering in network.backend(call.region_name).describe_instance_type_offerings(kind, {})
        if _matches(offering["InstanceType"], filters.get("instance-type"))
        and _matches(offering["Location"], filters.get("location"))
    ]
    return page(offerings, call.params, "InstanceTypeOfferings", "MaxResults", "NextToken")


def zones_offering(call: Call, instance_type: str) -> list[str]:
    """The names of the zones that have this type; a type that does not exist is the caller's
    mistake."""
    if instance_type not in INSTANCE_TYPES:
        raise AwsError("InvalidInstanceType", f"The instance type '{instance_type}' does not exist")
    table = INSTANCE_TYPE_OFFERINGS["availability-zone"].get(call.region_name, [])
    return sorted(one["Location"] for one in table if one["InstanceType"] == instance_type)


def add_missing() -> None:
    """Put the newer types into moto's table, which moto itself reads."""
    for instance_type, regions in ALSO_OFFERED.items():
        for region, zone_ids in regions.items():
            names = {zone.zone_id: zone.name for zone in RegionsAndZonesBackend.zones[region]}
            places = {"region": [region], "availability-zone-id": zone_ids}
            places["availability-zone"] = [names[zone_id] for zone_id in zone_ids]
            for kind, locations in places.items():
                _add(INSTANCE_TYPE_OFFERINGS[kind][region], instance_type, kind, locations)


def _add(table: list[dict[str, str]], instance_type: str, kind: str, locations: Any) -> None:
    for location in locations:
        offering = {"InstanceType": instance_type, "LocationType": kind, "Location": location}
        if offering not in table:
            table.append(offering)


def _matches(name: str, patterns: list[str] | None) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def describe_capacity_reservations(call: Call) -> dict[str, Any]:
    """Those that the setting `reservations` names: {id: {zone, instance_type}}."""
    known = call.state.settings.reservations
    wanted = call.params.get("CapacityReservationIds") or list(known)
    for number in wanted:
        if number not in known:
            raise AwsError(
                "InvalidCapacityReservationId.NotFound",
                f"The capacity reservation '{number}' does not exist",
            )
    return {
        "CapacityReservations": [
            {
                "CapacityReservationId": number,
                "AvailabilityZone": known[number]["zone"],
                "InstanceType": known[number]["instance_type"],
                "State": "active",
                "TotalInstanceCount": 8,
                "AvailableInstanceCount": 8,
            }
            for number in wanted
        ]
    }


BLOCK_TYPES = ("p4d.", "p4de.", "p5.", "p5e.", "p5en.", "p6-b200.", "trn1.", "trn2.")
BLOCK_HOURS = (*range(24, 24 * 15, 24), *range(24 * 21, 24 * 183, 24 * 7))
BLOCK_PRICE = 30.0  # dollars an hour and machine: a made-up number


def describe_capacity_block_offerings(call: Call) -> dict[str, Any]:
    """A block from tomorrow at 11:30 in each zone that has the type: they start at no other
    time."""
    params = call.params
    kind, count = params.get("InstanceType"), int(params.get("InstanceCount") or 1)
    hours = int(params["CapacityDurationHours"])
    if not kind or not kind.startswith(BLOCK_TYPES):
        raise AwsError("InvalidParameterValue", f"Capacity Blocks are not offered for {kind}")
    if hours not in BLOCK_HOURS or not 1 <= count <= 64:
        raise AwsError(
            "InvalidParameterValue",
            "CapacityDurationHours is a multiple of 24 up to 336, or of 168 up to 4368, and"
            " InstanceCount at most 64",
        )
    start = datetime.now(UTC).replace(hour=11, minute=30, second=0, microsecond=0)
    start += timedelta(days=1)
    offers = [
        {
            "CapacityBlockOfferingId": f"cb-{zlib.crc32(f'{zone}{kind}{hours}'.encode()):017x}",
            "InstanceType": kind,
            "AvailabilityZone": zone,
            "InstanceCount": count,
            "StartDate": start,
            "EndDate": start + timedelta(hours=hours),
            "CapacityBlockDurationHours": hours,
            "UpfrontFee": f"{BLOCK_PRICE * hours * count:.2f}",
            "CurrencyCode": "USD",
            "Tenancy": "default",
        }
        for zone in zones_offering(call, kind)
    ]
    return page(offers, params, "CapacityBlockOfferings", "MaxResults", "NextToken")


ANSWERS = {
    "DescribeCapacityBlockOfferings": describe_capacity_block_offerings,
    "DescribeInstanceTypeOfferings": describe_instance_type_offerings,
    "DescribeCapacityReservations": describe_capacity_reservations,
}
