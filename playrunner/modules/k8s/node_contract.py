"""k8s.node_contract: nodes that do not offer what their group promises are tainted until they
do, so that no launch uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.state import Change, State
from playrunner.kube.client.errors import KubeError
from playrunner.kube.nodes.contract import Group, group_of, groups_of, name_of, shortfalls
from playrunner.kube.nodes.edit import NODES, taints_of, update_node
from playrunner.kube.watch.explain import PODS
from playrunner.kube.watch.watch import Collection, watch_until
from playrunner.modules.k8s._base import KubeModule

if TYPE_CHECKING:
    from playrunner.run.context import Context

# Of the taint, whose value says whose it is, and of the annotation that says why
KEY = "playrunner.io/contract"
TAINT = f"{KEY}:NoSchedule"


class NodeContract(KubeModule):
    """Devices, EFA cards, large pages and kernel modules of every node, held against its group and
    the table of instance types. A node that lacks something gets a taint with our mark, and loses
    it when it is right again; other taints are left alone."""

    identity: ClassVar[tuple[str, ...]] = ("name",)

    name: str = "contract"  # what it is called in results
    groups: list[
        Any
    ] = []  # node groups: name, or selector (labels); efa, devices, hugepages_mib, modules
    # Labels of pods whose logs list their node's kernel modules; needed where a group names modules
    probe: str = ""
    namespace: str = ""  # of these pods; by default the context's
    timeout: float = 120  # seconds a node is given to become right before it is kept out

    def observe(self, ctx: Context) -> State | None:
        if self.stands_on_nothing(ctx):
            return None
        kept = {
            name_of(node): str((node["metadata"].get("annotations") or {}).get(KEY, ""))
            for node in ctx.kube.listing(NODES).items
            if taints_of(node).get(TAINT) == ctx.owner.cluster
        }
        return {"kept_out": kept} if kept else None

    def desired(self, ctx: Context, current: State | None) -> State | None:
        """The nodes to taint; None where all nodes are right."""
        groups, tainted = groups_of(self.groups or ()), set((current or {}).get("kept_out") or ())
        modules, lacking = self._modules(ctx, groups), dict[str, str]()

        def judge(seen: dict[Collection, Any]) -> str:
            nodes = [node for objects in seen.values() for node in objects.values()]
            lacking.clear()
            lacking.update(
                {
                    name_of(node): "; ".join(said)
                    for node in nodes
                    if (said := shortfalls(node, group_of(node, groups), modules))
                }
            )
            return "; ".join(
                f"{name}: {why}" for name, why in sorted(lacking.items()) if name not in tainted
            )

        watch_until(
            ctx.kube,
            [Collection(NODES)],
            judge,
            0.0 if ctx.check else float(self.timeout),
            ctx.progress,
        )
        self._warn(ctx, lacking)
        return {"kept_out": lacking} if lacking else None

    def apply(self, ctx: Context, change: Change) -> None:
        before = (change.observed or {}).get("kept_out") or {}
        after = (change.after or {}).get("kept_out") or {}
        for name in sorted({*before, *after}):
            if name in after and before.get(name) != after[name]:
                update_node(
                    ctx.kube, name, {TAINT: ctx.owner.cluster}, annotations={KEY: after[name]}
                )
            elif name not in after:
                update_node(ctx.kube, name, {TAINT: None}, annotations={KEY: None})

    def ours(self, ctx: Context, state: State) -> bool:
        return True  # only taints with our mark are seen at all

    def label(self, state: State) -> str:
        return "; ".join(
            f"{name}: {why}" for name, why in sorted((state.get("kept_out") or {}).items())
        )

    def _modules(self, ctx: Context, groups: list[Group]) -> dict[str, list[str]]:
        """The kernel modules of each node, as the probe's pod there wrote them down."""
        if not self.probe or not any(group.modules for group in groups):
            return {}
        namespace = self.namespace or ctx.kube.namespace
        pods = [
            pod
            for pod in ctx.kube.listing(PODS, namespace, self.probe).items
            if pod["spec"].get("nodeName")
        ]

        def read(pod: dict[str, Any]) -> tuple[str, list[str]]:
            try:
                text = ctx.kube.text(
                    f"{PODS.path(namespace, pod['metadata']['name'])}/log", tailLines=100
                )
            except KubeError:
                text = ""  # a pod that cannot be asked has found nothing
            return str(pod["spec"]["nodeName"]), text.split()

        return dict(ctx.kube.together(read, pods))

    def _warn(self, ctx: Context, lacking: dict[str, str]) -> None:
        said = "; ".join(
            f"node {name} is kept out of launches: {why}" for name, why in sorted(lacking.items())
        )
        if said and said not in ctx.warnings:
            ctx.warn(said)
