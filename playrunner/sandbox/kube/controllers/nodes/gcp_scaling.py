"""How many machines a pool of GKE needs: one more for pods that no node takes and a new one would,
none for daemons alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    Object,
    controller_of,
    is_leaving,
)
from playrunner.sandbox.kube.controllers.machines.machines import Machine
from playrunner.sandbox.kube.controllers.scheduling.fit import Amounts, refusals, requests_of

SYSTEM_MILLICPU = 200  # what the system and its daemons take of a machine
SYSTEM_GIB = 2


def machines_wanted(
    pods: Iterable[Object], nodes: Mapping[str, Object], template: Machine, names: Iterable[str]
) -> int:
    """How many more, beside those that are already on their way."""
    free: list[Amounts] = [
        _room(template) for name in names if _is_on_its_way(nodes.get(name), template)
    ]
    fresh = 0
    for pod in filter(_waits, pods):
        if refusals(pod, _node(template), _room(template), ()):
            continue  # not even an empty machine of this pool would do
        place = next((room for room in free if _fits(pod, room)), None)
        if place is None:
            place = _room(template)
            free.append(place)
            fresh += 1
        for name, amount in requests_of(pod).items():
            place[name] = place.get(name, Decimal(0)) - amount
    return fresh


def used_nodes(pods: Iterable[Object]) -> set[str]:
    """Nodes with a pod that is no daemon's: those run everywhere and keep nothing alive."""
    names = set()
    for pod in pods:
        owner = controller_of(pod)
        if (
            pod["spec"].get("nodeName")
            and not is_over(pod)
            and not (owner and owner["kind"] == "DaemonSet")
        ):
            names.add(str(pod["spec"]["nodeName"]))
    return names


def _waits(pod: Object) -> bool:
    """Whether the scheduler has looked at it and found no node."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    said = any(
        one["type"] == "PodScheduled" and one.get("reason") == "Unschedulable" for one in conditions
    )
    return said and not pod["spec"].get("nodeName") and not is_leaving(pod) and not is_over(pod)


def _is_on_its_way(node: Object | None, template: Machine) -> bool:
    """A machine without a node yet, or a node whose devices are not offered yet: pods for it still
    wait."""
    offered = ((node or {}).get("status") or {}).get("allocatable") or {}
    return node is None or any(device not in offered for device in template.devices)


def _fits(pod: Object, room: Amounts) -> bool:
    return all(room.get(name, Decimal(0)) >= amount for name, amount in requests_of(pod).items())


def _room(machine: Machine) -> Amounts:
    cpu = Decimal(machine.cpu) - Decimal(SYSTEM_MILLICPU) / 1000
    room = {
        "cpu": cpu,
        "memory": Decimal(int((machine.memory_gib - SYSTEM_GIB) * 1024**3)),
        "pods": Decimal(machine.pods),
        "ephemeral-storage": Decimal(100 * 1024**3),
    }
    return room | {name: Decimal(count) for name, count in machine.devices.items()}


def _node(machine: Machine) -> Object:
    labels = {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": machine.zone,
        "topology.kubernetes.io/region": machine.region,
        "node.kubernetes.io/instance-type": machine.instance_type,
        **machine.labels,
    }
    return {
        "metadata": {"name": "a new machine", "labels": labels},
        "spec": {"taints": list(machine.taints)},
    }
