"""aws.eks_access_entry: who may do what in a cluster, by IAM user or role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from playrunner.hostside.state import Change, State
from playrunner.modules.aws import _eks
from playrunner.modules.aws._base import AwsModule

if TYPE_CHECKING:
    from playrunner.run.context import Context


class EksAccessEntry(AwsModule):
    """An IAM principal's access to a cluster: exactly these Kubernetes groups and EKS access
    policies."""

    identity: ClassVar[tuple[str, ...]] = ("cluster", "principal")

    cluster: str  # the cluster's name
    principal: str  # the ARN of the IAM user or role
    policies: list[
        Any
        # EKS access policies: a name (as AmazonEKSViewPolicy), or {policy: name, namespaces: [...]}
    ] = []
    groups: list[str] = []  # Kubernetes groups, for which the cluster has bindings of its own
    # Nodes have types of their own
    type: Literal["STANDARD", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX"] = "STANDARD"
    username: str = ""  # the name in Kubernetes; by default the ARN
    tags: dict[str, str] = {}  # more tags, beside the owner's

    def observe(self, ctx: Context) -> State | None:
        of = {"clusterName": self.cluster, "principalArn": self.principal}
        answer = ctx.aws.read("eks", "describe_access_entry", missing=_eks.MISSING, **of)
        if answer is None:
            return None
        listed = (
            ctx.aws.read("eks", "list_associated_access_policies", missing=_eks.MISSING, **of) or {}
        )
        policies = [
            _policy(policy["policyArn"], policy["accessScope"])
            for policy in listed.get("associatedAccessPolicies", ())
        ]
        entry = answer["accessEntry"]
        return {
            **entry,
            "kubernetesGroups": sorted(entry.get("kubernetesGroups") or ()),
            "accessPolicies": _sorted(policies),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        wanted = [
            policy if isinstance(policy, dict) else {"policy": policy} for policy in self.policies
        ]
        policies = [
            _policy(_arn(ctx, policy["policy"]), {"namespaces": policy.get("namespaces")})
            for policy in wanted
        ]
        state: State = {
            "type": self.type,
            "accessPolicies": _sorted(policies),
            "tags": dict(self.tags),
        }
        if self.type == "STANDARD":
            state["kubernetesGroups"] = sorted(self.groups)
        return {**state, "username": self.username} if self.username else state

    def apply(self, ctx: Context, change: Change) -> None:
        of, wanted = (
            {"clusterName": self.cluster, "principalArn": self.principal},
            change.after or {},
        )
        if change.removes:
            ctx.aws.call("eks", "delete_access_entry", **of)
            return
        settings = {key: wanted[key] for key in ("kubernetesGroups", "username") if key in wanted}
        if change.creates:
            ctx.aws.call(
                "eks",
                "create_access_entry",
                token="clientRequestToken",
                type=wanted["type"],
                tags={**wanted["tags"], **ctx.owner.tags(self.principal.rpartition("/")[2])},
                **of,
                **settings,
            )
        elif change.touches("kubernetesGroups", "username"):
            ctx.aws.call("eks", "update_access_entry", token="clientRequestToken", **of, **settings)
        _eks.update_tags(ctx, (change.observed or {}).get("accessEntryArn", ""), change)
        had, have = (change.observed or {}).get("accessPolicies", []), wanted["accessPolicies"]
        for policy in [other for other in have if other not in had]:
            ctx.aws.call("eks", "associate_access_policy", **of, **policy)
        for policy in [
            other
            for other in had
            if other["policyArn"] not in {another["policyArn"] for another in have}
        ]:
            ctx.aws.call("eks", "disassociate_access_policy", policyArn=policy["policyArn"], **of)

    def label(self, state: State) -> str:
        return str(state.get("principalArn", self.principal)).rpartition("/")[2]


def _arn(ctx: Context, name: str) -> str:
    return (
        name
        if name.startswith("arn:")
        else f"arn:{ctx.aws.partition}:eks::aws:cluster-access-policy/{name}"
    )


def _policy(arn: str, scope: Any) -> dict[str, Any]:
    namespaces = sorted(scope.get("namespaces") or ())
    return {
        "policyArn": arn,
        "accessScope": {"type": "namespace" if namespaces else "cluster", "namespaces": namespaces},
    }


def _sorted(policies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(policies, key=lambda policy: str(policy["policyArn"]))
