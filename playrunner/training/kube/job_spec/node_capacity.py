"""The capacity of a cluster's nodes: what each has allocatable for pods, and what of it is free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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


@dataclass(frozen=True)
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
    """What a pod holds of its node."""
    held: dict[str, float] = {"pods": 1.0}
    for container in (pod.get("spec") or {}).get("containers") or ():
        resources = container.get("resources") or {}
        for name, value in {
            **(resources.get("limits") or {}),
            **(resources.get("requests") or {}),
        }.items():
            asked = name in (resources.get("requests") or {}) or name not in ("cpu", "memory")
            held[name] = held.get(name, 0.0) + (amount(value) if asked else 0.0)
    return held


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
