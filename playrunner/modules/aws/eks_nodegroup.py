"""aws.eks_nodegroup: machines that EKS starts, joins to a cluster and keeps at a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.aws import _eks, _eks_nodegroup

if TYPE_CHECKING:
    from playrunner.run.context import Context


class EksNodegroup(_eks.EksModule):
    """A managed node group. Sizes, labels, taints and versions are changed in place; the rest is
    fixed when it is made."""

    identity: ClassVar[tuple[str, ...]] = ("cluster", "name")
    # EKS tries for up to half an hour before it says that there is no capacity; several zones may
    # have to be tried.
    settle_seconds: ClassVar[float] = 7200

    cluster: str  # the cluster's name
    name: str  # the node group's name
    node_role: str  # the ARN of the nodes' role
    subnets: list[str]  # where nodes may be
    instance_types: list[
        str
    ] = []  # the types it may use, preferred first; none when the launch template names one
    # How the machines are bought
    capacity_type: Literal["ON_DEMAND", "SPOT", "CAPACITY_BLOCK"] = "ON_DEMAND"
    min_size: int = 1  # never fewer nodes
    max_size: int = 2  # never more
    # How many at first; then the number belongs to what scales it. By default min_size
    desired_size: int | None = None
    size: int | None = None  # how many now, also where something else scales it
    # Let max_size or size end nodes that run; otherwise fewer than there are is refused
    shrink: bool = False
    labels: dict[str, str] | None = None  # exactly these Kubernetes labels
    # Exactly these: key, value, effect (NO_SCHEDULE, NO_EXECUTE, PREFER_NO_SCHEDULE)
    taints: list[dict[str, str]] | None = None
    # The image's kind, as AL2023_x86_64_NVIDIA; by default EKS's choice for the types
    ami_type: str = ""
    # Kubernetes' version, as 1.33; by default the cluster's when it is made
    version: str | None = None
    disk_gib: int | None = None  # the root disk's size; in the launch template where there is one
    launch_template_id: str = ""  # a launch template (network cards, disks, capacity reservation)
    launch_template_version: str = "1"  # which version of it
    max_unavailable: int | None = None  # how many nodes may be away at once while versions change
    # All nodes in one of the subnets: tried in turn until one has the capacity
    one_zone: bool = False
    replace: bool = False  # delete and create it again where something fixed differs
    tags: dict[str, str] = {}  # more tags, beside the owner's

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        if arguments.get("launch_template_id") and arguments.get("disk_gib"):
            return "disk_gib belongs into the launch template where there is one"
        return None

    def observe(self, ctx: Context) -> State | None:
        answer = ctx.aws.read(
            "eks",
            "describe_nodegroup",
            missing=_eks.MISSING,
            clusterName=self.cluster,
            nodegroupName=self.name,
        )
        if not answer:
            return None
        without_capacity = _eks_nodegroup.subnets_without_capacity(ctx.applied)
        state = _eks_nodegroup.observed(answer["nodegroup"])
        return {**state, "subnetsWithoutCapacity": without_capacity} if without_capacity else state

    def desired(self, ctx: Context, current: State | None) -> State:
        wanted: State = {
            "scalingConfig": self._sizes(current),
            "capacityType": self.capacity_type,
            "nodeRole": self.node_role,
            "subnets": self._subnets(ctx, current),
            "tags": dict(self.tags),
        }
        template = {"id": self.launch_template_id, "version": self.launch_template_version}
        choices = {
            "instanceTypes": self.instance_types or None,
            "amiType": self.ami_type or None,
            "version": self.version,
            "labels": self.labels,
            "taintSet": None if self.taints is None else _eks_nodegroup.taint_set(self.taints),
            "diskSize": self.disk_gib,
            "launchTemplate": template if self.launch_template_id else None,
            "updateConfig": (
                {"maxUnavailable": self.max_unavailable} if self.max_unavailable else None
            ),
        }
        wanted.update({key: value for key, value in choices.items() if value is not None})
        if (
            current is not None and "labels" in wanted
        ):  # one that is to go is said to be nothing, so that it shows
            wanted["labels"] = {**dict.fromkeys(current["labels"]), **wanted["labels"]}
        self._refuse_fixed(current, wanted)
        return wanted

    def apply(self, ctx: Context, change: Change) -> None:
        current, wanted = change.observed, change.after or {}
        if change.removes or (
            current
            and (_eks.never_was(current) or _eks_nodegroup.fixed_differences(current, wanted))
        ):
            ctx.aws.call(
                "eks", "delete_nodegroup", clusterName=self.cluster, nodegroupName=self.name
            )
        elif current is None:
            self._create(ctx, wanted)
        else:
            self._update(ctx, current, change)

    def broken(self, state: State) -> str | None:
        if state.get("status") not in ("CREATE_FAILED", "DELETE_FAILED", "DEGRADED"):
            return None
        tried = len({*state.get("subnetsWithoutCapacity", ()), *state["subnets"]})
        where = f" (tried {tried} of {len(self.subnets)} subnets)" if self.one_zone else ""
        return f"node group {self.name} is {_eks.said(state)}{where}"

    def again(self, ctx: Context, state: State) -> bool:
        if (
            self.one_zone
            and _eks.created_in_this_run(ctx)
            and _eks_nodegroup.short_of_capacity(state)
        ):
            return bool(self._untried(ctx, state["subnets"]))
        return super().again(ctx, state)

    def label(self, state: State) -> str:
        return str(state.get("nodegroupName", self.name))

    def _sizes(self, current: State | None) -> State:
        now = None
        if current is not None and not _eks.never_was(current):
            now = int(current["scalingConfig"]["desiredSize"])
        first = self.min_size if self.desired_size is None else self.desired_size
        number = self.size if self.size is not None else first if now is None else now
        number = min(max(number, self.min_size), self.max_size)
        if now is not None and number < now and not self.shrink:
            raise Failed(
                f"node group {self.name} has {now} nodes and would be left with {number}"
                f" (max_size: {self.max_size}): {now - number} nodes would be ended with what runs"
                " on them; raise max_size, scale it down first, or set shrink: true"
            )
        return {"minSize": self.min_size, "maxSize": self.max_size, "desiredSize": number}

    def _subnets(self, ctx: Context, current: State | None) -> list[str]:
        if not self.one_zone:
            return sorted(self.subnets)
        if (
            current is not None
            and not _eks.never_was(current)
            and set(current["subnets"]) <= set(self.subnets)
        ):
            return list(current["subnets"])
        failed = current["subnets"] if current and _eks.created_in_this_run(ctx) else ()
        return (self._untried(ctx, failed) or self.subnets)[:1]

    def _untried(self, ctx: Context, just_failed: Sequence[str] = ()) -> list[str]:
        tried = {*_eks_nodegroup.subnets_without_capacity(ctx.applied), *just_failed}
        return [subnet for subnet in self.subnets if subnet not in tried]

    def _refuse_fixed(self, current: State | None, wanted: State) -> None:
        differing = (
            _eks_nodegroup.fixed_differences(current, wanted)
            if current and not _eks.never_was(current)
            else []
        )
        if differing and not self.replace:
            raise Failed(
                f"node group {self.name} cannot be changed in place ({'; '.join(differing)}); set"
                " replace: true (its nodes are drained and replaced), or give the new one another"
                " name"
            )

    def _create(self, ctx: Context, wanted: State) -> None:
        named = {
            key: wanted[key]
            for key in (
                "instanceTypes",
                "amiType",
                "version",
                "diskSize",
                "launchTemplate",
                "labels",
                "updateConfig",
            )
            if wanted.get(key)
        }
        if wanted.get("taintSet"):
            named["taints"] = [_eks_nodegroup.taint(text) for text in wanted["taintSet"]]
        ctx.aws.call(
            "eks",
            "create_nodegroup",
            token="clientRequestToken",
            clusterName=self.cluster,
            nodegroupName=self.name,
            nodeRole=wanted["nodeRole"],
            subnets=wanted["subnets"],
            capacityType=wanted["capacityType"],
            scalingConfig=wanted["scalingConfig"],
            tags={**wanted["tags"], **ctx.owner.tags(self.name)},
            **named,
        )

    def _update(self, ctx: Context, current: State, change: Change) -> None:
        """One update at a time, as EKS takes them; what still differs afterwards is applied in the
        next attempt."""
        wanted, of = change.after or {}, {"clusterName": self.cluster, "nodegroupName": self.name}
        _eks.update_tags(ctx, current["nodegroupArn"], change)
        config = _eks_nodegroup.config_changes(current, wanted)
        if config:
            ctx.aws.call(
                "eks", "update_nodegroup_config", token="clientRequestToken", **of, **config
            )
        elif change.touches("version", "launchTemplate"):
            named = {key: wanted[key] for key in ("version", "launchTemplate") if key in wanted}
            ctx.aws.call(
                "eks", "update_nodegroup_version", token="clientRequestToken", **of, **named
            )
