"""What the nodes of a group must offer, by the group's declaration and the table of instance
types, and what a node offers and lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from playrunner.cloud.instance_types import EFA, HUGE_PAGES, instance
from playrunner.frozen import frozen
from playrunner.kube.client.client import Kube
from playrunner.kube.nodes.edit import NODES
from playrunner.kube.watch.readiness import allocatable, readiness_of
from playrunner.kube.watch.watch import Collection, watch_until

GROUP_LABELS = ("eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool")
TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
MEBIBYTE = 1 << 20
FADING_SECONDS = 15.0  # a node goes on offering devices for a moment after their plugin is gone
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|[kMGTPE]i?|Ki)?")
_UNITS = {
    "m": 0.001,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
    "Ei": 2.0**60,
}

Node = Mapping[str, Any]


@frozen
class Group:
    """Nodes of which the same is expected."""

    name: str = ""
    selector: Mapping[str, str] = field(
        default_factory=dict
    )  # their labels; by default those of a cloud's group of this name
    devices: Mapping[str, int] = field(
        default_factory=dict
    )  # what each must offer, beside or instead of what the table says
    efa: bool | int = False  # whether they have EFA cards: as many as the table says, or so many
    hugepages_mib: int | None = None
    modules: tuple[str, ...] = ()  # kernel modules

    def takes(self, node: Node) -> bool:
        labels = labels_of(node)
        if self.selector:
            return all(labels.get(key) == str(value) for key, value in self.selector.items())
        return any(labels.get(label) == self.name for label in GROUP_LABELS)

    def offers(self, node: Node) -> dict[str, int]:
        """How much of each resource a node of the group must have for pods."""
        machine = instance(type_of(node))
        required = {machine.device: machine.accelerators} if machine and machine.device else {}
        if self.efa:
            required[EFA] = (
                int(self.efa) if not isinstance(self.efa, bool) else machine.efa if machine else 1
            )
        pages = (
            self.hugepages_mib
            if self.hugepages_mib is not None
            else machine.huge_pages_mib
            if machine and self.efa
            else 0
        )
        required |= {HUGE_PAGES: pages * MEBIBYTE} if pages else {}
        return {**required, **{name: int(count) for name, count in self.devices.items()}}


def groups_of(declared: Iterable[Mapping[str, Any]]) -> list[Group]:
    """The declared groups, and last one for nodes of no group, which are held to the table alone.
    Other settings of a node group are ignored."""
    groups = [
        Group(
            str(entry.get("name") or ""),
            entry.get("selector") or {},
            entry.get("devices") or {},
            entry.get("efa") or False,
            None if entry.get("hugepages_mib") is None else int(entry["hugepages_mib"]),
            tuple(entry.get("modules") or ()),
        )
        for entry in declared
    ]
    return [*groups, Group()]


def group_of(node: Node, groups: Sequence[Group]) -> Group:
    return next((group for group in groups[:-1] if group.takes(node)), groups[-1])


def shortfalls(node: Node, group: Group, loaded: Mapping[str, Iterable[str]]) -> list[str]:
    """Everything a node lacks, in words; `loaded` are the kernel modules found on each node."""
    readiness = readiness_of({"kind": "Node", **node})
    lacking = [] if readiness.ready else [readiness.missing or readiness.broken]
    offers = (node.get("status") or {}).get("allocatable") or {}
    for name, required in group.offers(node).items():
        offered = amount(offers.get(name, 0)) or 0
        if offered < required:
            lacking.append(f"offers {_written(name, offered)} of {_written(name, required)} {name}")
    missing = set(group.modules) - set(loaded.get(name_of(node), ()))
    return [*lacking, *(f"has no kernel module {module}" for module in sorted(missing))]


def still_offered(kube: Kube, resource: str, wait: bool, progress: Callable[[str], None]) -> str:
    """Which nodes offer a resource, and go on doing so for a while; empty when none does."""

    def offering(seen: dict[Collection, Any]) -> str:
        names = sorted(
            str(node["metadata"]["name"])
            for objects in seen.values()
            for node in objects.values()
            if allocatable(node, resource)
        )
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return (
            f"{', '.join(names[:3])}{more} offer{'s' if len(names) == 1 else ''} {resource} already"
            if names
            else ""
        )

    return watch_until(
        kube, [Collection(NODES)], offering, FADING_SECONDS if wait else 0.0, progress
    )


def amount(quantity: object) -> float | None:
    """The number of a quantity such as 500m, 5120Mi or 2k; None for what is no quantity."""
    match = _QUANTITY.fullmatch(str(quantity))
    return None if match is None else float(match[1]) * _UNITS.get(match[2] or "", 1)


def name_of(node: Node) -> str:
    return str(node["metadata"]["name"])


def labels_of(node: Node) -> Mapping[str, str]:
    return node["metadata"].get("labels") or {}


def type_of(node: Node) -> str:
    labels = labels_of(node)
    return next((labels[label] for label in TYPE_LABELS if labels.get(label)), "")


def _written(name: str, number: float) -> str:
    return f"{number / MEBIBYTE:g}Mi" if name == HUGE_PAGES else f"{number:g}"
