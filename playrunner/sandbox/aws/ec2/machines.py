"""EC2 instances as other services start and end them: where there is capacity, and through the
states they pass."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.aws.api.wire import Call
from playrunner.sandbox.aws.ec2 import network
from playrunner.sandbox.aws.ec2.offerings import zones_offering

PENDING, RUNNING, SHUTTING_DOWN, TERMINATED = (
    ("pending", 0),
    ("running", 16),
    ("shutting-down", 32),
    ("terminated", 48),
)


def has_capacity(call: Call, subnet: Any, instance_type: str) -> bool:
    """Whether a machine of this type can be had in this subnet's zone right now."""
    offered = subnet.availability_zone in zones_offering(call, instance_type)
    return offered and not call.state.faults.no_capacity(network.zone_names(subnet), instance_type)


def start(
    call: Call,
    count: int,
    instance_type: str,
    subnet: Any,
    groups: list[str],
    tags: dict[str, str],
    **more: Any,
) -> list[str]:
    """Start instances for a service; gives their ids."""
    ec2 = network.backend(call.region_name)
    template = more.get("launch_template")
    reservation = ec2.run_instances(
        more.get("image_id") or _any_image(ec2),
        count,
        None,
        [],
        instance_type=instance_type,
        is_instance_type_default=False,
        subnet_id=subnet.id,
        region_name=call.region_name,
        security_group_ids=groups,
        tags={"instance": tags, "volume": tags},
        nics=[],
        launch_template=template or {},
        instance_market_options="spot" if more.get("spot") else {},
        placement=subnet.availability_zone,
        metadata_options={"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
        block_device_mappings=more.get("volumes") or [_root_volume(more.get("disk_gib") or 20)],
    )
    for instance in reservation.instances:
        instance.lifecycle = "spot" if more.get("spot") else None
        boot(call, instance)
    return [instance.id for instance in reservation.instances]


def boot(call: Call, instance: Any) -> None:
    """From pending to running, in a while."""
    _enter(instance, PENDING)
    call.state.later(
        "ec2.instance.start",
        lambda: _enter(instance, RUNNING) if instance.state == PENDING[0] else None,
    )


def end(call: Call, ids: list[str]) -> None:
    """Terminate instances of a service."""
    ec2 = network.backend(call.region_name)
    known = {
        instance.id
        for reservation in ec2.reservations.values()
        for instance in reservation.instances
    }
    alive = [
        one
        for one in ids
        if one in known and ec2.get_instance(one).state not in (SHUTTING_DOWN[0], TERMINATED[0])
    ]
    if alive:
        ec2.terminate_instances(alive)
    for instance_id in alive:
        shut_down(call, ec2.get_instance(instance_id))


def shut_down(call: Call, instance: Any) -> None:
    """From shutting down to terminated, in a while; its own interfaces go with it."""
    _enter(instance, SHUTTING_DOWN)
    call.region.placed.pop(instance.id, None)
    for interface in instance.nics.values():
        if (
            interface.delete_on_termination is not False
            or interface.description == "Primary network interface"
        ):
            network.release_interface(call, interface.id)
    call.state.later("ec2.instance.stop", lambda: _enter(instance, TERMINATED))


def alive(region_name: str) -> list[Any]:
    """Every instance that is not terminated."""
    every = (
        instance
        for reservation in network.backend(region_name).reservations.values()
        for instance in reservation.instances
    )
    return [instance for instance in every if instance.state != TERMINATED[0]]


def _enter(instance: Any, state: tuple[str, int]) -> None:
    instance._state.name, instance._state.code = state


def _any_image(ec2: Any) -> str:
    return str(next(iter(ec2.amis)))


def _root_volume(gib: int) -> dict[str, Any]:
    volume = {
        "VolumeSize": gib,
        "VolumeType": "gp3",
        "Encrypted": True,
        "DeleteOnTermination": True,
    }
    return {"DeviceName": "/dev/xvda", "Ebs": volume}
