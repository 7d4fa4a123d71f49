"""The room on the nodes: where pods fit, counting those whose placing the views have not heard of
yet. For every scheduler."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

from playrunner.sandbox.kube.controllers.framework.client import ApiError, Unreachable
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    CLAIMS,
    NODES,
    PODS,
    VOLUMES,
    Object,
    is_leaving,
    key_of,
    uid_of,
)
from playrunner.sandbox.kube.controllers.scheduling.fit import (
    Amounts,
    refusals,
    requests_of,
    unschedulable_message,
    volume_fits,
)
from playrunner.sandbox.kube.schema.quantities import value_of


@dataclass(frozen=True)
class Placing:
    """Where pods go, by uid; or why they do not."""

    nodes: dict[str, str] = field(default_factory=dict)
    why_not: str = ""


class Floor:
    """Shared by all schedulers (`context.the(Floor)`): hold `lock` from `place` to the last
    `bind`."""

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self.lock = threading.RLock()
        self._bound: dict[str, str] = {}  # uid: node, until the view shows it

    def place(self, pods: list[Object]) -> Placing:
        """A node for each of these pods, all of them or none; each goes where the fewest are."""
        nodes = [node for node in self.context.see(NODES).all() if not is_leaving(node)]
        there = self._there()
        free = {
            node["metadata"]["name"]: _free(node, there.get(node["metadata"]["name"], []))
            for node in nodes
        }
        assignments: dict[str, str] = {}
        for pod in pods:
            counts: Counter[str] = Counter()
            able = []
            for node in nodes:
                name = node["metadata"]["name"]
                why = refusals(pod, node, free[name], there.get(name, ())) or self._volume_refusals(
                    pod, node
                )
                counts.update(why)
                able += [] if why else [name]
            if not able:
                return Placing(why_not=unschedulable_message(counts, len(nodes)))
            chosen = min(able, key=lambda name: (len(there.get(name, ())), name))
            there.setdefault(chosen, []).append(pod)
            for name, amount in requests_of(pod).items():
                free[chosen][name] = free[chosen].get(name, Decimal(0)) - amount
            assignments[uid_of(pod)] = chosen
        return Placing(assignments)

    def bind(self, pod: Object, node: str) -> None:
        """Give the pod its node."""
        namespace, name = key_of(pod)
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "uid": uid_of(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._bound[uid_of(pod)] = node
        try:
            self.context.api.call("POST", PODS.path(namespace, name, "binding"), binding)
        except (ApiError, Unreachable):
            del self._bound[uid_of(pod)]  # if it was heard all the same, the view will say so
            raise
        message = f"Successfully assigned {namespace}/{name} to {node}"
        self.context.event(
            pod,
            "Normal",
            "Scheduled",
            message,
            pod["spec"].get("schedulerName") or "default-scheduler",
        )

    def is_bound(self, pod: Object) -> bool:
        return bool(pod["spec"].get("nodeName")) or uid_of(pod) in self._bound

    def _there(self) -> dict[str, list[Object]]:
        """The pods of each node."""
        pods_by_node: dict[str, list[Object]] = {}
        known: set[str] = set()
        for pod in self.context.see(PODS).all():
            known.add(uid_of(pod))
            node = pod["spec"].get("nodeName") or self._bound.get(uid_of(pod))
            if pod["spec"].get("nodeName"):
                self._bound.pop(uid_of(pod), None)
            if node and not is_over(pod):
                pods_by_node.setdefault(node, []).append(pod)
        for gone in set(self._bound) - known:
            del self._bound[gone]
        return pods_by_node

    def _volume_refusals(self, pod: Object, node: Object) -> list[str]:
        for claim in claims_of(pod):
            found = self.context.see(CLAIMS).get(pod["metadata"]["namespace"], claim)
            volume = self.context.see(VOLUMES).get(
                "", ((found or {}).get("spec") or {}).get("volumeName", "")
            )
            if volume is not None and not volume_fits(volume, node):
                return ["node(s) had volume node affinity conflict"]
        return []


def claims_of(pod: Object) -> list[str]:
    """The names of the claims that it mounts."""
    volumes = pod["spec"].get("volumes") or ()
    own = [f"{pod['metadata']['name']}-{one['name']}" for one in volumes if one.get("ephemeral")]
    return own + [
        one["persistentVolumeClaim"]["claimName"]
        for one in volumes
        if one.get("persistentVolumeClaim")
    ]


def _free(node: Object, there: list[Object]) -> Amounts:
    offered = (node.get("status") or {}).get("allocatable") or {}
    free = {name: value_of(amount) for name, amount in offered.items()}
    for pod in there:
        for name, amount in requests_of(pod).items():
            free[name] = free.get(name, Decimal(0)) - amount
    return free
