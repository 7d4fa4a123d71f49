"""What other services need of EC2's network: subnets, zones, groups, and interfaces that a service
holds."""

from __future__ import annotations

from typing import Any

from moto.ec2.models import ec2_backends
from moto.iam.models import iam_backends

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call


def backend(region_name: str) -> Any:
    """moto's EC2 of one region."""
    return ec2_backends[ACCOUNT][region_name]


def find_subnets(call: Call, ids: list[str], code: str) -> list[Any]:
    """The subnets of these ids; a missing one is the caller's mistake, under the service's own
    code."""
    known = {
        subnet_id: subnet
        for zone in backend(call.region_name).subnets.values()
        for subnet_id, subnet in zone.items()
    }
    missing = [subnet_id for subnet_id in ids if subnet_id not in known]
    if missing:
        raise AwsError(code, f"The subnet ID '{missing[0]}' does not exist")
    return [known[subnet_id] for subnet_id in ids]


def find_groups(call: Call, ids: list[str], code: str) -> None:
    """Complain about the first security group that is not there."""
    for group_id in ids:
        if backend(call.region_name).get_security_group_from_id(group_id) is None:
            raise AwsError(code, f"The security group '{group_id}' does not exist")


def zone_names(subnet: Any) -> tuple[str, str]:
    """A subnet's zone, by its name and its id."""
    return subnet.availability_zone, subnet.availability_zone_id


def hold_interface(
    call: Call, subnet_id: str, group_ids: list[str], holder: str, description: str
) -> str:
    """An interface that belongs to a service: it blocks the deletion of its subnet and groups, and
    is not for its user to delete."""
    ec2 = backend(call.region_name)
    subnet = find_subnets(call, [subnet_id], "InvalidSubnetID.NotFound")[0]
    interface = ec2.create_network_interface(
        subnet, None, group_ids=group_ids, description=description
    )
    claim_interface(call, interface.id, holder)
    return str(interface.id)


def claim_interface(call: Call, interface_id: str, holder: str) -> None:
    """Mark an interface that moto made as the service's own."""
    interface = backend(call.region_name).enis[interface_id]
    interface.requester_managed = True
    interface.requester_id = f"amazon-{holder}"
    interface.status = "in-use"
    call.region.held[interface_id] = holder


def release_interface(call: Call, interface_id: str) -> None:
    """Let a service's interface go."""
    call.region.held.pop(interface_id, None)
    backend(call.region_name).enis.pop(interface_id, None)


def find_role(arn: str, service: str, code: str, label: str) -> None:
    """Complain when a role is not there or does not trust the service that is to use it."""
    role = next(
        (one for one in iam_backends[ACCOUNT]["aws"].roles.values() if one.arn == arn), None
    )
    if role is None:
        why = "it does not exist or the trusted entity is not correct"
        raise AwsError(code, f"Role with arn: {arn}, could not be assumed because {why}")
    trust = role.assume_role_policy_document
    if service not in (trust if isinstance(trust, str) else str(trust)):
        said = (
            f"Following required service principals [{service}] were not found in the trust"
            " relationships of"
        )
        raise AwsError(code, f"{said} {label} {arn}")
