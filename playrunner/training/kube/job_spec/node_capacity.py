"""The capacity of a cluster's nodes: what each has allocatable for pods, and what of it is free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from playrunner.frozen import frozen
from playrunner.kube.client.client import Kube
from playrunner.kube.client.optional import if_allowed
from playrunner.kube.client.resource import Resource
from playrunner.kube.watch.explain import PODS
from playrunner.training.kube.job_spec.names import ID

NODES = Resource("v1", "Node", "nodes", False)
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ENDED = ("Succeeded", "Failed")

_UNITS = {
    "": 1.0,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
}


@frozen
class NodeCapacity:
    """One node."""

    name: str
    instance_type: str = ""
    has: dict[str, float] = field(default_factory=dict)  # allocatable
    free: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[tuple[str, str, str], ...] = ()  # key, value, effect
    usable: bool = True  # ready, and not cordoned
    holders: tuple[str, ...] = ()  # pods that hold something of it, the largest first


def look(kube: Kube, leaving: str = "", namespace: str = "") -> list[NodeCapacity]:
    """Every node, by name; what the pods of a run that is about to leave hold counts as free. A
    user who may not see all pods is told of those in `namespace`; one who may not see nodes gets
    none: `nodes_hidden` tells why."""
    kube.refresh()
    nodes = if_allowed(lambda: kube.listing(NODES).items, [])
    if not nodes:
        return []
    everywhere = if_allowed(lambda: kube.listing(PODS).items, None)
    pods = [
        pod
        for pod in (kube.listing(PODS, namespace).items if everywhere is None else everywhere)
        if (pod.get("status") or {}).get("phase") not in ENDED
        and not (leaving and (pod["metadata"].get("labels") or {}).get(ID) == leaving)
    ]
    return offers(nodes, pods)


def nodes_hidden(kube: Kube) -> bool:
    """Whether the user may not see the nodes."""
    return if_allowed(lambda: kube.listing(NODES) is None, True)


def offers(
    nodes: Sequence[Mapping[str, Any]], pods: Iterable[Mapping[str, Any]]
) -> list[NodeCapacity]:
    by_node: dict[str, list[Mapping[str, Any]]] = {}
    for pod in pods:
        by_node.setdefault(str((pod.get("spec") or {}).get("nodeName") or ""), []).append(pod)
    found = [_offer(node, by_node.get(str(node["metadata"]["name"]), [])) for node in nodes]
    return sorted(found, key=lambda offer: offer.name)


def amount(text: Any) -> float:
    """A quantity as a number: cores, bytes, devices."""
    plain = str(text).strip()
    unit = plain.lstrip("+-0123456789.eE")
    try:
        return float(plain.removesuffix(unit)) * _UNITS[unit]
    except (KeyError, ValueError):
        return 0.0


def demand(pod: Mapping[str, Any]) -> dict[str, float]:
    """What a pod holds of its node: its containers with the sidecars together, or the init
    container that takes most beside the sidecars begun before it; and its runtime's overhead."""
    spec = pod.get("spec") or {}
    sidecars: dict[str, float] = {}
    most: dict[str, float] = {}
    for container in spec.get("initContainers") or ():
        own = _asked(container)
        if container.get("restartPolicy") == "Always":
            sidecars = _sum(sidecars, own)
            most = _largest(most, sidecars)
        else:
            most = _largest(most, _sum(sidecars, own))
    running = sidecars
    for container in spec.get("containers") or ():
        running = _sum(running, _asked(container))
    overhead = {name: amount(value) for name, value in (spec.get("overhead") or {}).items()}
    return {"pods": 1.0, **_sum(_largest(most, running), overhead)}


def _asked(container: Mapping[str, Any]) -> dict[str, float]:
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    return {
        name: amount(value) if name in requests or name not in ("cpu", "memory") else 0.0
        for name, value in {**limits, **requests}.items()
    }


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


def _largest(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: max(one.get(name, 0.0), other.get(name, 0.0)) for name in {**one, **other}}


def _offer(node: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> NodeCapacity:
    meta, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    has = {
        name: amount(value)
        for name, value in (status.get("allocatable") or status.get("capacity") or {}).items()
    }
    free = dict(has)
    for pod in pods:
        for name, value in demand(pod).items():
            free[name] = free.get(name, 0.0) - value
    ready = any(
        item.get("type") == "Ready" and item.get("status") == "True"
        for item in status.get("conditions") or ()
    )
    labels = {str(key): str(value) for key, value in (meta.get("labels") or {}).items()}
    taints = tuple(
        (str(item.get("key")), str(item.get("value") or ""), str(item.get("effect")))
        for item in spec.get("taints") or ()
    )
    holders = sorted(
        pods,
        key=lambda pod: (
            -max((value for name, value in demand(pod).items() if "/" in name), default=0.0)
        ),
    )
    return NodeCapacity(
        str(meta["name"]),
        labels.get(INSTANCE_TYPE, ""),
        has,
        free,
        labels,
        taints,
        ready and not spec.get("unschedulable"),
        tuple(str(pod["metadata"]["name"]) for pod in holders),
    )
