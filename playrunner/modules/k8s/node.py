"""k8s.node: a node's labels and taints, and whether pods may come and stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Failed, Module
from playrunner.hostside.state import Change, State
from playrunner.kube.nodes.drain import drain, movable, objection
from playrunner.kube.nodes.edit import NODES, taints_of, update_node
from playrunner.modules.k8s._kinds import selector_text

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Node(Module):
    """Only what is named is changed: other labels and taints of a node stay. Nodes are found by
    name or by labels."""

    in_background: ClassVar[bool] = True

    name: str = ""  # of one node
    selector: Any = ""  # or the labels of several
    labels: dict[str, Any] = {}  # labels to set; one that is null is taken off
    taints: list[
        Any
    ] = []  # taints to set: {key, value, effect}, or as kubectl has them: key=value:effect
    untaint: list[str] = []  # taints to take off: key, or key:effect
    cordon: bool | None = None  # whether new pods are kept away
    # Move its pods elsewhere, as far as disruption budgets let them; cordons it
    drain: bool = False
    grace: int | None = None  # seconds a pod is given to end; by default what it asks for
    lone_pods: bool = False  # also pods without a controller, which are not created again
    empty_dirs: bool = False  # also pods that keep data in an emptyDir
    timeout: float = 300  # seconds for the pods to be gone
    after: Any = None  # values of steps that must be there first

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        if bool(arguments.get("name")) == bool(arguments.get("selector")):
            return "give a node by name, or a selector"
        for taint in arguments.get("taints") or ():
            if not isinstance(taint, dict) and (":" not in str(taint)):
                return f'a taint is {{key, value, effect}} or key=value:effect, not "{taint}"'
        return (
            "a node that is drained is also cordoned"
            if arguments.get("drain") and arguments.get("cordon") is False
            else None
        )

    def observe(self, ctx: Context) -> State | None:
        return {
            node["metadata"]["name"]: {
                "labels": node["metadata"].get("labels") or {},
                "taints": taints_of(node),
                "cordoned": bool(node.get("spec", {}).get("unschedulable")),
                "pods": sorted(
                    f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
                    for pod in movable(ctx.kube, node["metadata"]["name"])
                )
                if self.drain
                else [],
            }
            for node in self._nodes(ctx)
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        labels = {
            str(key): None if value is None else str(value)
            for key, value in (self.labels or {}).items()
        }
        set_ = dict(_taint(taint) for taint in self.taints or ())
        targets: State = {}
        for name, node in (current or {}).items():
            off = {
                key: None
                for key in node["taints"]
                if key not in set_
                and (key in self.untaint or key.rpartition(":")[0] in self.untaint)
            }
            targets[name] = {
                "labels": labels,
                "taints": {**set_, **off},
                **(
                    {"cordoned": True, "pods": []}
                    if self.drain
                    else {}
                    if self.cordon is None
                    else {"cordoned": bool(self.cordon)}
                ),
            }
        return targets

    def apply(self, ctx: Context, change: Change) -> None:
        for name, target in (change.after or {}).items():
            if target == (change.before or {}).get(name):
                continue
            ctx.progress(name)
            update_node(
                ctx.kube, name, target["taints"], target["labels"], cordoned=target.get("cordoned")
            )
            if self.drain:
                pods = movable(ctx.kube, name)
                complaint = objection(pods, self.lone_pods, self.empty_dirs)
                if complaint:
                    raise Failed(f"node {name} is not drained: {complaint}")
                drain(ctx.kube, name, pods, self.grace, self.timeout, ctx.progress)

    def returns(self, ctx: Context, change: Change) -> dict[str, Any]:
        return {"nodes": sorted(change.after or {})}

    def _nodes(self, ctx: Context) -> list[dict[str, Any]]:
        if not self.name:
            return list(ctx.kube.listing(NODES, selector=selector_text(self.selector)).items)
        found = ctx.kube.get(NODES, "", self.name)
        if found is None:
            raise Failed(f'there is no node "{self.name}"; see: kubectl get nodes')
        return [found]


def _taint(taint: Any) -> tuple[str, str]:
    """A taint's key with its effect, and its value."""
    if isinstance(taint, dict):
        return f"{taint.get('key')}:{taint.get('effect', 'NoSchedule')}", str(
            taint.get("value") or ""
        )
    rest, _, effect = str(taint).rpartition(":")
    key, _, value = rest.partition("=")
    return f"{key}:{effect}", value
