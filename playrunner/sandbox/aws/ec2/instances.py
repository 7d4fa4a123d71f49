"""EC2 instances: client tokens kept, zones that run out, names that must exist, and states that
take time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from botocore.serialize import create_serializer

from playrunner.sandbox.aws.api.tokens import keep_token
from playrunner.sandbox.aws.api.wire import AwsError, Call, Reply
from playrunner.sandbox.aws.ec2 import machines, network
from playrunner.sandbox.aws.ec2.offerings import zones_offering


def run_instances(call: Call, moto: Callable[..., Reply]) -> Reply:
    return keep_token(call, lambda: _run(call, moto))


def _run(call: Call, moto: Callable[..., Reply]) -> Reply:
    template = _template_data(call)
    wish = {**template, **call.params}
    interfaces = wish.get("NetworkInterfaces") or []
    _check_place(call, wish, interfaces)
    group = (wish.get("Placement") or {}).get("GroupName")
    if group and group not in call.region.placement_groups:
        raise AwsError(
            "InvalidPlacementGroup.Unknown", f"The Placement Group '{group}' is unknown."
        )
    _check_named(call, wish)
    reply = moto(_of_template(call, template))
    if reply.error is None:
        for instance_id in set(re.findall(r"<instanceId>(i-[0-9a-f]+)<", reply.body.decode())):
            instance = network.backend(call.region_name).get_instance(instance_id)
            machines.boot(call, instance)
            if interfaces:  # an instance has the groups of its first interface
                instance.security_groups = list(instance.nics[0].group_set)
            if group:
                call.region.placed[instance_id] = instance.placement.group_name = group
    return reply


def _check_place(call: Call, wish: dict[str, Any], interfaces: list[dict[str, Any]]) -> None:
    if interfaces and wish.get("SubnetId"):
        raise AwsError(
            "InvalidParameterCombination",
            "Network interfaces and an instance-level subnet ID may not be specified on the same"
            " request",
        )
    subnets = (one["SubnetId"] for one in interfaces if one.get("SubnetId"))
    subnet_id = wish.get("SubnetId") or next(subnets, None)
    kind = wish.get("InstanceType") or "m1.small"
    if subnet_id:
        subnet = network.find_subnets(call, [subnet_id], "InvalidSubnetID.NotFound")[0]
        _check_offered(call, kind, subnet.availability_zone)
        if not machines.has_capacity(call, subnet, kind):
            where = f"the Availability Zone you requested ({subnet.availability_zone})"
            said = f"We currently do not have sufficient {kind} capacity in {where}."
            raise AwsError("InsufficientInstanceCapacity", said, 500)


def _of_template(call: Call, template: dict[str, Any]) -> str:
    """The fields of a form that moto does not take from a template: interfaces, and the groups of
    an instance without any."""
    taken = ("NetworkInterfaces", "SecurityGroupIds")
    left = {name: template[name] for name in taken if name in template and name not in call.params}
    if not left or call.operation is None:
        return ""
    # moto knows an interface by its device index, which is the same on each card but the first
    left["NetworkInterfaces"] = [
        {**interface, "DeviceIndex": number}
        for number, interface in enumerate(left.get("NetworkInterfaces") or ())
    ]
    form = create_serializer("ec2", False).serialize_to_request(left, call.operation)["body"]
    return urlencode(
        {name: value for name, value in form.items() if name not in ("Action", "Version")}
    )


def _check_named(call: Call, wish: dict[str, Any]) -> None:
    """What moto takes on trust: the image and the key pair."""
    ec2, image, key = network.backend(call.region_name), wish.get("ImageId"), wish.get("KeyName")
    if not image:
        raise AwsError("MissingParameter", "The request must contain the parameter ImageId")
    if image not in ec2.amis:
        raise AwsError("InvalidAMIID.NotFound", f"The image id '[{image}]' does not exist")
    if key and key not in ec2.key_pairs:
        raise AwsError("InvalidKeyPair.NotFound", f"The key pair '{key}' does not exist")


def _template_data(call: Call) -> dict[str, Any]:
    reference = call.params.get("LaunchTemplate")
    return (
        dict(network.backend(call.region_name)._get_template_from_args(reference).data)
        if reference
        else {}
    )


def _check_offered(call: Call, kind: str, zone: str) -> None:
    zones = zones_offering(call, kind)
    if zone not in zones:
        message = (
            f"Your requested instance type ({kind}) is not supported in your requested Availability"
            f" Zone ({zone})."
        )
        raise AwsError(
            "Unsupported", f"{message} Please retry your request by choosing {', '.join(zones)}."
        )


def terminate_instances(call: Call, moto: Callable[[], Reply]) -> Reply:
    ec2 = network.backend(call.region_name)
    before = {instance.id: instance.state for instance in machines.alive(call.region_name)}
    reply = moto()
    if reply.error is None:
        for instance_id in call.params["InstanceIds"]:
            if (
                before.get(instance_id, "terminated") != machines.SHUTTING_DOWN[0]
                and instance_id in before
            ):
                machines.shut_down(call, ec2.get_instance(instance_id))
    return reply


AROUND = {"RunInstances": run_instances, "TerminateInstances": terminate_instances}
