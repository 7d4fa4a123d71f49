"""aws.eks_verify: whether a cluster that is already there can be worked with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Probe
from playrunner.hostside.state import State
from playrunner.modules.aws import _eks, _eks_points, _iam
from playrunner.modules.aws.eks_cluster import observed

if TYPE_CHECKING:
    from playrunner.run.context import Context


class EksVerify(Probe):
    """A cluster that already exists: all of `problems` at once, each with its remedy; and
    `cluster` as EKS describes it.

    It does not fail by itself, so that what is built on the cluster can still be found and deleted.
    """

    in_background: ClassVar[bool] = True

    name: str  # the cluster's name
    vpc_id: str | None = None  # the network it must be in; without one it may be in any
    oidc: bool = True  # IAM must know its issuer
    nodes: int = 1  # how many nodes its managed node groups must have together
    least_free_ips: int = _eks_points.LEAST_FREE_IPS  # in each of its subnets
    from_inside: bool = False  # we are inside the VPC, so a private endpoint will do

    def look(self, ctx: Context) -> dict[str, Any]:
        answer = ctx.aws.read("eks", "describe_cluster", missing=_eks.MISSING, name=self.name)
        if answer is None:
            there = ", ".join(ctx.aws.read("eks", "list_clusters")["clusters"]) or "none"
            return {
                "problems": [
                    f"there is no cluster {self.name} in {ctx.aws.region} (there are: {there}):"
                    " set eks_existing or aws_region"
                ],
                "notes": [],
            }
        cluster = observed(answer["cluster"])
        groups = self._groups(ctx)
        problems = [
            *_eks_points.of_itself(cluster, self.vpc_id),
            *_eks_points.of_version(ctx, cluster),
            *(_eks_points.of_identity(ctx, cluster) if self.oidc else ()),
            *_eks_points.of_subnets(ctx, cluster, self.least_free_ips),
            *_eks_points.of_endpoint(cluster, self.from_inside),
            *_eks_points.of_security_group(ctx, cluster),
            *_eks_points.of_nodes(groups, self.name, self.nodes),
            *_eks_points.of_access(ctx, cluster),
        ]
        issuer = ((cluster.get("identity") or {}).get("oidc") or {}).get("issuer", "")
        return {
            "cluster": cluster,
            "nodegroups": groups,
            "problems": problems,
            "notes": list(_eks_points.is_dear(ctx, cluster)),
            "oidc_provider_arn": _iam.oidc_provider_arn(ctx, issuer) if issuer else "",
        }

    def _groups(self, ctx: Context) -> list[State]:
        names = ctx.aws.read("eks", "list_nodegroups", clusterName=self.name)["nodegroups"]
        described = [
            ctx.aws.read(
                "eks",
                "describe_nodegroup",
                missing=_eks.MISSING,
                clusterName=self.name,
                nodegroupName=name,
            )
            for name in names
        ]
        return [answer["nodegroup"] for answer in described if answer]
