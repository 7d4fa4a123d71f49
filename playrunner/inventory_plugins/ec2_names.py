"""Names of EC2 instances: the option `hostnames`, which names fields by EC2's filters, and tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.inventory_plugins.host_scope import HostScope
from playrunner.text.written import Written
from playrunner.variables.templating import default_templar

DEFAULT_NAMES = ("dns-name", "private-dns-name")
# EC2's filters, and where the answer has what each of them compares
_FIELDS = {
    "affinity": "Placement.Affinity",
    "architecture": "Architecture",
    "availability-zone": "Placement.AvailabilityZone",
    "client-token": "ClientToken",
    "dns-name": "PublicDnsName",
    "group-id": "Groups.GroupId",
    "group-name": "Groups.GroupName",
    "host-id": "Placement.HostId",
    "hypervisor": "Hypervisor",
    "iam-instance-profile.arn": "IamInstanceProfile.Arn",
    "image-id": "ImageId",
    "instance-id": "InstanceId",
    "instance-lifecycle": "InstanceLifecycle",
    "instance-state-code": "State.Code",
    "instance-state-name": "State.Name",
    "instance-type": "InstanceType",
    "instance.group-id": "SecurityGroups.GroupId",
    "instance.group-name": "SecurityGroups.GroupName",
    "ip-address": "PublicIpAddress",
    "kernel-id": "KernelId",
    "key-name": "KeyName",
    "launch-index": "AmiLaunchIndex",
    "launch-time": "LaunchTime",
    "monitoring-state": "Monitoring.State",
    "network-interface.addresses.association.public-ip": (
        "NetworkInterfaces.PrivateIpAddresses.Association.PublicIp"
    ),
    "network-interface.addresses.private-ip-address": "NetworkInterfaces.PrivateIpAddress",
    "network-interface.association.public-ip": "NetworkInterfaces.Association.PublicIp",
    "network-interface.attachment.attachment-id": "NetworkInterfaces.Attachment.AttachmentId",
    "network-interface.attachment.instance-id": "InstanceId",
    "network-interface.attachment.instance-owner-id": "OwnerId",
    "network-interface.availability-zone": "Placement.AvailabilityZone",
    "network-interface.description": "NetworkInterfaces.Description",
    "network-interface.group-id": "NetworkInterfaces.Groups.GroupId",
    "network-interface.group-name": "NetworkInterfaces.Groups.GroupName",
    "network-interface.ipv6-addresses.ipv6-address": "NetworkInterfaces.Ipv6Addresses.Ipv6Address",
    "network-interface.mac-address": "NetworkInterfaces.MacAddress",
    "network-interface.network-interface-id": "NetworkInterfaces.NetworkInterfaceId",
    "network-interface.owner-id": "NetworkInterfaces.OwnerId",
    "network-interface.private-dns-name": "NetworkInterfaces.PrivateDnsName",
    "network-interface.status": "NetworkInterfaces.Status",
    "network-interface.subnet-id": "NetworkInterfaces.SubnetId",
    "network-interface.vpc-id": "NetworkInterfaces.VpcId",
    "owner-id": "OwnerId",
    "placement-group-name": "Placement.GroupName",
    "platform": "Platform",
    "private-dns-name": "PrivateDnsName",
    "private-ip-address": "PrivateIpAddress",
    "product-code": "ProductCodes.ProductCodeId",
    "product-code.type": "ProductCodes.ProductCodeType",
    "ramdisk-id": "RamdiskId",
    "reason": "StateTransitionReason",
    "requester-id": "RequesterId",
    "reservation-id": "ReservationId",
    "root-device-name": "RootDeviceName",
    "root-device-type": "RootDeviceType",
    "spot-instance-request-id": "SpotInstanceRequestId",
    "state-reason-code": "StateReason.Code",
    "state-reason-message": "StateReason.Message",
    "subnet-id": "SubnetId",
    "tenancy": "Placement.Tenancy",
    "virtualization-type": "VirtualizationType",
    "vpc-id": "VpcId",
}
_VALUE = "hostname"  # what a filter behind a preference is applied to


class HostNames:
    """The names that a list of preferences gives an instance."""

    def __init__(
        self, preferences: list[Any], folder: Path, group_name: Callable[[str], str]
    ) -> None:
        for preference in preferences:
            if not isinstance(preference, (str, dict)):
                raise BadInput(f"hostnames holds texts and mappings, not {preference!r:.60}")
            if isinstance(preference, dict) and "name" not in preference:
                raise BadInput("an entry of hostnames that is a mapping needs a name")
        self._preferences = preferences or list(DEFAULT_NAMES)
        self._folder, self._group_name = folder, group_name

    def first(self, instance: Mapping[str, Any]) -> list[str]:
        """The name by the first preference that gives one; empty where none does."""
        for preference in self._preferences:
            names = self._names(preference, instance)
            if names:
                return names[:1]
        return []

    def all(self, instance: Mapping[str, Any]) -> list[str]:
        """The names by all preferences."""
        return [name for each in self._preferences for name in self._names(each, instance)]

    def _names(self, preference: Any, instance: Mapping[str, Any]) -> list[str]:
        if isinstance(preference, str):
            return [self._safe(name) for name in self._values(preference, instance)]
        names = self._names(preference["name"], instance)
        prefixes = self._names(preference.get("prefix") or "", instance)
        if names and prefixes:
            return [self._safe(f"{prefixes[0]}{preference.get('separator', '_')}{names[0]}")]
        return names

    def _values(self, preference: str, instance: Mapping[str, Any]) -> list[str]:
        field, bar, filters = preference.partition("|")
        field = field.rstrip() if bar else field
        if field.startswith("tag:"):
            value: Any = _tag_names(field.removeprefix("tag:"), instance)
        elif field in _FIELDS:
            value = _at(instance, _FIELDS[field].split("."))
        else:
            value = field  # any other text is a name itself
        if bar and value:
            single = value[0] if isinstance(value, list) and len(value) == 1 else value
            scope = HostScope({_VALUE: single}, self._folder)
            value = default_templar.evaluate(Written(f"{_VALUE} |{filters}"), scope)
        values = value if isinstance(value, list) else [value]
        return [str(each) for each in values if each not in (None, "")]

    def _safe(self, name: str) -> str:
        return self._group_name(name) if ":" in name else name


def _tag_names(written: str, instance: Mapping[str, Any]) -> list[str]:
    """The values of tags; NAME=VALUE gives NAME_VALUE where the tag has that value."""
    tags = tags_of(instance)
    names = []
    for part in written.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            names.append(tags.get(name, ""))
        elif tags.get(name) == value:
            names.append(f"{name}_{value}")
    return [name for name in names if name]


def tags_of(instance: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag.get("Value", "") for tag in instance.get("Tags") or []}


def _at(value: Any, path: list[str]) -> Any:
    """What lies at a path; through a list, all values there."""
    if not path:
        return value
    if isinstance(value, list):
        found = [inner for item in value if (inner := _at(item, path))]
        return found[0] if len(found) == 1 else found
    return _at(value.get(path[0]), path[1:]) if isinstance(value, dict) else None
