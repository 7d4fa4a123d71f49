"""k8s.capacity: what the nodes of a cluster have for pods, all of them together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from playrunner.kube_resource import Resource
from playrunner.module import Failed, Probe
from playrunner.modules.k8s._base import stands_on_nothing
from playrunner.modules.k8s._kinds import selector_text

NODES = Resource("v1", "Node", "nodes", False)
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|[kMGTP]i?|Ki)?")
_UNITS = {"m": 0.001, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
          "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}


class Capacity(Probe):
    """`allocatable`: processors, memory and devices of all nodes that take pods, as quantities. A group that may grow counts as
    large as it may become, each node of it like the least of those that are there."""

    in_background: ClassVar[bool] = True

    selector: Any = ""  # the labels of the nodes that count; by default all
    group: str = "eks.amazonaws.com/nodegroup"  # the label by which nodes belong to a group
    sizes: dict[str, int] = {}  # how many nodes a group may have
    after: Any = None  # values of steps that must be there first

    def look(self, ctx: Any) -> dict[str, Any]:
        if stands_on_nothing(self.after, ctx):
            return {"nodes": [], "allocatable": {}}
        nodes = [node for node in ctx.kube.listing(NODES, "", selector_text(self.selector)).items
                 if not (node.get("spec") or {}).get("unschedulable")]
        groups: dict[str, list[dict[str, float]]] = {}
        for node in nodes:
            labels = node["metadata"].get("labels") or {}
            groups.setdefault(str(labels.get(self.group, "")), []).append(_offered(node))
        total: dict[str, float] = {}
        for name, offers in groups.items():
            missing = max(0, int((self.sizes or {}).get(name, 0)) - len(offers))
            _add(total, [*offers, *[_least(offers)] * missing])
        return {"nodes": sorted(node["metadata"]["name"] for node in nodes),
                "allocatable": {name: _written(name, amount) for name, amount in sorted(total.items()) if amount}}


def _offered(node: Mapping[str, Any]) -> dict[str, float]:
    """Processors, memory, and everything that a device plugin brought."""
    told = (node.get("status") or {}).get("allocatable") or {}
    return {name: _amount(value) for name, value in told.items() if name in ("cpu", "memory") or "/" in name}


def _least(offers: Iterable[Mapping[str, float]]) -> dict[str, float]:
    listed = list(offers)
    return {name: min(one[name] for one in listed) for name in listed[0] if all(name in one for one in listed)}


def _add(total: dict[str, float], offers: Iterable[Mapping[str, float]]) -> None:
    for offer in offers:
        for name, amount in offer.items():
            total[name] = total.get(name, 0) + amount


def _amount(quantity: object) -> float:
    found = _QUANTITY.fullmatch(str(quantity))
    if found is None:
        raise Failed(f'a node offers "{quantity}", which is no quantity; see: kubectl describe nodes')
    return float(found[1]) * _UNITS.get(found[2] or "", 1)


def _written(name: str, amount: float) -> str:
    if name == "cpu":
        return f"{round(amount * 1000)}m" if amount % 1 else f"{round(amount)}"
    return f"{int(amount) >> 10}Ki" if name == "memory" else f"{round(amount)}"
