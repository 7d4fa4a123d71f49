"""What the nodes of a group must offer, and what one lacks: from the group's declaration and the
table of instance types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playrunner.cloud.instance_types import EFA, HUGE_PAGES, instance
from playrunner.kube.nodes.quantity import amount
from playrunner.kube.watch.readiness import verdict

GROUP_LABELS = ("eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool")
TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
MEBIBYTE = 1 << 20

Node = Mapping[str, Any]


@dataclass(frozen=True)
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
        known = instance(type_of(node))
        wanted = {known.device: known.accelerators} if known and known.device else {}
        if self.efa:
            wanted[EFA] = (
                int(self.efa) if not isinstance(self.efa, bool) else known.efa if known else 1
            )
        pages = (
            self.hugepages_mib
            if self.hugepages_mib is not None
            else known.huge_pages_mib
            if known and self.efa
            else 0
        )
        wanted |= {HUGE_PAGES: pages * MEBIBYTE} if pages else {}
        return {**wanted, **{name: int(count) for name, count in self.devices.items()}}


def groups_of(declared: Iterable[Mapping[str, Any]]) -> list[Group]:
    """The declared groups; what else a declaration of a node group says is passed over. A node of
    none of them is held to the table alone."""
    found = [
        Group(
            str(one.get("name") or ""),
            one.get("selector") or {},
            one.get("devices") or {},
            one.get("efa") or False,
            None if one.get("hugepages_mib") is None else int(one["hugepages_mib"]),
            tuple(one.get("modules") or ()),
        )
        for one in declared
    ]
    return [*found, Group()]


def group_of(node: Node, groups: Sequence[Group]) -> Group:
    return next((group for group in groups[:-1] if group.takes(node)), groups[-1])


def shortfalls(node: Node, group: Group, loaded: Mapping[str, Iterable[str]]) -> list[str]:
    """Everything that a node lacks, in words; `loaded` are the kernel modules found on each node."""
    said = verdict({"kind": "Node", **node})
    found = [] if said.ready else [said.missing or said.broken]
    there = (node.get("status") or {}).get("allocatable") or {}
    for name, wanted in group.offers(node).items():
        offered = amount(there.get(name, 0)) or 0
        if offered < wanted:
            found.append(f"offers {_written(name, offered)} of {_written(name, wanted)} {name}")
    missing = set(group.modules) - set(loaded.get(name_of(node), ()))
    return [*found, *(f"has no kernel module {module}" for module in sorted(missing))]


def name_of(node: Node) -> str:
    return str(node["metadata"]["name"])


def labels_of(node: Node) -> Mapping[str, str]:
    return node["metadata"].get("labels") or {}


def type_of(node: Node) -> str:
    labels = labels_of(node)
    return next((labels[label] for label in TYPE_LABELS if labels.get(label)), "")


def _written(name: str, number: float) -> str:
    return f"{number / MEBIBYTE:g}Mi" if name == HUGE_PAGES else f"{number:g}"
