"""k8s.capacity: what the nodes of a cluster have for pods, all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Failed, Probe
from playrunner.kube.nodes.contract import (
    amount,
    group_of,
    groups_of,
    labels_of,
    name_of,
    shortfalls,
)
from playrunner.kube.nodes.edit import NODES, taints_of
from playrunner.kube.watch.watch import Collection, watch_until
from playrunner.modules.k8s._base import stands_on_nothing
from playrunner.modules.k8s._kinds import selector_text
from playrunner.modules.k8s.node_contract import TAINT

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Capacity(Probe):
    """`allocatable`: processors, memory and devices of all nodes that take pods, as quantities. A
    group that may grow counts as large as it may become, each node of it like the least of those
    that are there. Devices that a declared group promises are waited for: a plugin finds them some
    time after its pods run."""

    in_background: ClassVar[bool] = True

    selector: Any = ""  # the labels of the nodes that count; by default all
    group: str = "eks.amazonaws.com/nodegroup"  # the label by which nodes belong to a group
    sizes: dict[str, int] = {}  # how many nodes a group may have
    groups: list[
        Any
    ] = []  # node groups as k8s.node_contract takes them, whose nodes must offer what they promise
    timeout: float = 120  # seconds these are given; what is still missing then does not count
    after: Any = None  # values of steps that must be there first

    def look(self, ctx: Context) -> dict[str, Any]:
        if stands_on_nothing(self.after, ctx):
            return {"nodes": [], "allocatable": {}}
        nodes = self._nodes(ctx)
        groups: dict[str, list[dict[str, float]]] = {}
        for node in nodes:
            groups.setdefault(str(labels_of(node).get(self.group, "")), []).append(_offered(node))
        total: dict[str, float] = {}
        for name, offers in groups.items():
            missing = max(0, int((self.sizes or {}).get(name, 0)) - len(offers))
            _add(total, [*offers, *[_least(offers)] * missing])
        return {
            "nodes": sorted(map(name_of, nodes)),
            "allocatable": {
                name: _written(name, number) for name, number in sorted(total.items()) if number
            },
        }

    def _nodes(self, ctx: Context) -> list[dict[str, Any]]:
        """Those that take pods, as they are now and not as another step saw them a moment ago."""
        # What is not for pods to ask for (kernel modules) does not matter here.
        groups, usable = (
            [replace(one, modules=()) for one in groups_of(self.groups or ())],
            list[dict[str, Any]](),
        )

        def judge(seen: dict[Collection, Any]) -> str:
            usable[:] = [
                node
                for objects in seen.values()
                for node in objects.values()
                if not (node.get("spec") or {}).get("unschedulable")
            ]
            # A tainted node has been waited for already, and nodes of no declared group
            # promise nothing.
            promised = [
                (node, group)
                for node in usable
                if TAINT not in taints_of(node)
                and (group := group_of(node, groups)) is not groups[-1]
            ]
            lacking = {
                name_of(node): said
                for node, group in promised
                if (said := shortfalls(node, group, {}))
            }
            return "; ".join(f"{name}: {', '.join(said)}" for name, said in sorted(lacking.items()))

        home = Collection(NODES, "", selector_text(self.selector))
        lacking = watch_until(
            ctx.kube, [home], judge, 0.0 if ctx.check else float(self.timeout), ctx.progress
        )
        if lacking and not ctx.check:
            ctx.warn(
                f"after {self.timeout:g} seconds nodes offer less than their groups promise, and"
                f" count for what they offer: {lacking}; see: kubectl describe nodes"
            )
        return usable


def _offered(node: Mapping[str, Any]) -> dict[str, float]:
    """Processors, memory, and all devices of device plugins."""
    told = (node.get("status") or {}).get("allocatable") or {}
    return {
        name: _number(value)
        for name, value in told.items()
        if name in ("cpu", "memory") or "/" in name
    }


def _least(offers: Iterable[Mapping[str, float]]) -> dict[str, float]:
    listed = list(offers)
    return {
        name: min(one[name] for one in listed)
        for name in listed[0]
        if all(name in one for one in listed)
    }


def _add(total: dict[str, float], offers: Iterable[Mapping[str, float]]) -> None:
    for offer in offers:
        for name, number in offer.items():
            total[name] = total.get(name, 0) + number


def _number(quantity: object) -> float:
    number = amount(quantity)
    if number is None:
        raise Failed(
            f'a node offers "{quantity}", which is no quantity; see: kubectl describe nodes'
        )
    return number


def _written(name: str, number: float) -> str:
    if name == "cpu":
        return f"{round(number * 1000)}m" if number % 1 else f"{round(number)}"
    return f"{int(number) >> 10}Ki" if name == "memory" else f"{round(number)}"
