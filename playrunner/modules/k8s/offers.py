"""k8s.offers: the nodes whose machine type has a device offer it to pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.cloud.instance_types import EFA, instance
from playrunner.hostside.module import Failed, Probe
from playrunner.kube.nodes.contract import TYPE_LABELS, labels_of, name_of
from playrunner.kube.nodes.edit import NODES
from playrunner.kube.watch.readiness import allocatable, readiness_of
from playrunner.kube.watch.watch import Collection, watch_until
from playrunner.modules.k8s._base import stands_on_nothing

if TYPE_CHECKING:
    from playrunner.run.context import Context

_MOST_NAMED = 5


class Offers(Probe):
    """Waits until every ready node of a machine type that has the device offers as many as the type
    has. Fails where none offers any: the plugin does not work. Fewer than the type has are a
    warning: a card may not be attached, or be broken."""

    in_background: ClassVar[bool] = True

    resource: str  # as nvidia.com/gpu
    timeout: float = 120  # seconds
    after: Any = None  # values of steps that must be there first

    def look(self, ctx: Context) -> dict[str, Any]:
        if stands_on_nothing(self.after, ctx):
            return {"offered": {}}
        offered: dict[str, tuple[int, int]] = {}

        def judge(seen: dict[Collection, Any]) -> str:
            offered.clear()
            for nodes in seen.values():
                for node in nodes.values():
                    has = self._has(node)
                    if has and readiness_of({"kind": "Node", **node}).ready:
                        count = allocatable(node, self.resource)
                        offered[name_of(node)] = count, has
            return self._lacking(offered)

        seconds = 0.0 if ctx.check else float(self.timeout)
        lacking = watch_until(ctx.kube, [Collection(NODES)], judge, seconds, ctx.progress)
        if lacking and not ctx.check:
            if not any(count for count, _ in offered.values()) and self.resource != EFA:
                raise Failed(
                    f"within {self.timeout:g} seconds no node offers {self.resource}: {lacking};"
                    " does its plugin run there, and is the driver installed? kubectl get pods -n"
                    " kube-system -o wide, kubectl describe node NAME (Taints, Allocatable)"
                )
            ctx.warn(f"nodes offer fewer {self.resource} than their type has: {lacking}")
        return {"offered": {name: count for name, (count, _) in sorted(offered.items())}}

    def _has(self, node: Mapping[str, Any]) -> int:
        """How many the node's type has, by the table."""
        labels = labels_of(node)
        kind = next((labels[label] for label in TYPE_LABELS if label in labels), "")
        table = instance(str(kind))
        if table is None or (node.get("spec") or {}).get("unschedulable"):
            return 0
        if self.resource == EFA:
            return table.efa
        return table.accelerators if table.device == self.resource else 0

    def _lacking(self, offered: Mapping[str, tuple[int, int]]) -> str:
        short = [
            f"{name} offers {count} of {has}"
            for name, (count, has) in sorted(offered.items())
            if count < has
        ]
        more = f" and {len(short) - _MOST_NAMED} more" if len(short) > _MOST_NAMED else ""
        return ", ".join(short[:_MOST_NAMED]) + more
