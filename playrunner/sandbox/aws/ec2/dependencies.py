"""DependencyViolation where EC2 gives it: nothing goes while something else still stands on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.sandbox.aws.api.wire import AwsError, Call, Reply
from playrunner.sandbox.aws.ec2 import machines, network

Moto = Callable[[], Reply]


def delete_subnet(call: Call, moto: Moto) -> Reply:
    subnet_id, ec2 = call.params["SubnetId"], network.backend(call.region_name)
    inside = [one for one in ec2.enis.values() if one.subnet.id == subnet_id]
    busy = [one for one in machines.alive(call.region_name) if one.subnet_id == subnet_id]
    if inside or busy:
        raise _violation(f"The subnet '{subnet_id}' has dependencies and cannot be deleted.")
    return moto()


def delete_security_group(call: Call, moto: Moto) -> Reply:
    ec2 = network.backend(call.region_name)
    group = (
        ec2.get_security_group_from_id(call.params["GroupId"])
        if call.params.get("GroupId")
        else None
    )
    if group is None:
        return moto()
    if group.name == "default":
        raise AwsError(
            "CannotDelete",
            f'the specified group: "{group.id}" name: "default" cannot be deleted by a user',
        )
    in_use = any(
        group.id in {one.id for one in interface.group_set} for interface in ec2.enis.values()
    )
    stopping = any(
        group.id in {one.id for one in instance.security_groups}
        for instance in machines.alive(call.region_name)
    )
    if in_use or stopping or _named_by_another(ec2, group):
        raise _violation(f"resource {group.id} has a dependent object")
    return moto()


def _named_by_another(ec2: Any, group: Any) -> bool:
    others = [
        other for vpc in ec2.groups.values() for other in vpc.values() if other.id != group.id
    ]
    rules = [rule for other in others for rule in [*other.ingress_rules, *other.egress_rules]]
    return any(rule.source_group.get("GroupId") == group.id for rule in rules)


def detach_internet_gateway(call: Call, moto: Moto) -> Reply:
    vpc_id, ec2 = call.params["VpcId"], network.backend(call.region_name)
    addressed = [one for one in ec2.enis.values() if one.vpc_id == vpc_id and one.public_ip]
    if addressed or any(
        one.vpc_id == vpc_id and one.state in ("pending", "available", "deleting")
        for one in ec2.nat_gateways.values()
    ):
        said = "Please unmap those public address(es) before detaching the gateway."
        raise _violation(f"Network {vpc_id} has some mapped public address(es). {said}")
    return moto()


def delete_vpc(call: Call, moto: Moto) -> Reply:
    vpc_id, ec2 = call.params["VpcId"], network.backend(call.region_name)
    gateways = [
        gateway
        for gateway in ec2.internet_gateways.values()
        if gateway.vpc is not None and gateway.vpc.id == vpc_id
    ]
    groups = [group for group in ec2.groups.get(vpc_id, {}).values() if group.name != "default"]
    endpoints = [
        endpoint
        for endpoint in ec2.vpc_end_points.values()
        if endpoint.vpc_id == vpc_id and endpoint.state != "deleted"
    ]
    if gateways or groups or endpoints:
        raise _violation(f"The vpc '{vpc_id}' has dependencies and cannot be deleted.")
    return moto()


def delete_route_table(call: Call, moto: Moto) -> Reply:
    table = network.backend(call.region_name).route_tables.get(call.params["RouteTableId"])
    if table is not None and (table.associations or table.main_association_id):
        raise _violation(f"The routeTable '{table.id}' has dependencies and cannot be deleted.")
    return moto()


def delete_network_interface(call: Call, moto: Moto) -> Reply:
    interface = network.backend(call.region_name).enis.get(call.params["NetworkInterfaceId"])
    if interface is not None and (
        interface.id in call.region.held or interface.instance is not None
    ):
        raise AwsError(
            "InvalidParameterValue", f"Network interface '{interface.id}' is currently in use."
        )
    return moto()


def release_address(call: Call, moto: Moto) -> Reply:
    wanted = call.params.get("AllocationId")
    held = [
        one
        for one in network.backend(call.region_name).addresses
        if one.allocation_id == wanted and one.association_id
    ]
    if held:
        raise AwsError(
            "InvalidIPAddress.InUse",
            f"The address with allocation id '{wanted}' is in use (association"
            f" {held[0].association_id}).",
        )
    return moto()


def _violation(said: str) -> AwsError:
    return AwsError("DependencyViolation", said)


AROUND = {
    "DeleteSubnet": delete_subnet,
    "DeleteSecurityGroup": delete_security_group,
    "DetachInternetGateway": detach_internet_gateway,
    "DeleteVpc": delete_vpc,
    "DeleteRouteTable": delete_route_table,
    "DeleteNetworkInterface": delete_network_interface,
    "ReleaseAddress": release_address,
}
