"""aws.eks_pod_identity: a role for the pods of one service account, given by EKS itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from playrunner.hostside.state import Change, State
from playrunner.modules.aws import _eks
from playrunner.modules.aws._base import AwsModule

if TYPE_CHECKING:
    from playrunner.run.context import Context


class EksPodIdentity(AwsModule):
    """A pod identity association; the role trusts pods.eks.amazonaws.com, and
    eks-pod-identity-agent runs on the nodes."""

    identity: ClassVar[tuple[str, ...]] = ("cluster", "namespace", "service_account")

    cluster: str  # the cluster's name
    namespace: str  # the service account's namespace
    service_account: str  # the service account's name
    role_arn: str  # the role its pods get
    tags: dict[str, str] = {}  # more tags, beside the owner's

    def observe(self, ctx: Context) -> State | None:
        # One listing of the whole cluster serves every association that is looked for.
        listed = (
            ctx.aws.read(
                "eks",
                "list_pod_identity_associations",
                missing=_eks.MISSING,
                clusterName=self.cluster,
            )
            or {}
        )
        ids = [
            association["associationId"]
            for association in listed.get("associations", ())
            if (association["namespace"], association["serviceAccount"])
            == (self.namespace, self.service_account)
        ]
        answer = (
            ctx.aws.read(
                "eks",
                "describe_pod_identity_association",
                missing=_eks.MISSING,
                clusterName=self.cluster,
                associationId=ids[0],
            )
            if ids
            else None
        )
        return dict(answer["association"]) if answer else None

    def desired(self, ctx: Context, current: State | None) -> State:
        return {"roleArn": self.role_arn, "tags": dict(self.tags)}

    def apply(self, ctx: Context, change: Change) -> None:
        current, wanted = change.observed or {}, change.after or {}
        if change.removes:
            ctx.aws.call(
                "eks",
                "delete_pod_identity_association",
                clusterName=self.cluster,
                associationId=current["associationId"],
            )
        elif change.creates:
            ctx.aws.call(
                "eks",
                "create_pod_identity_association",
                token="clientRequestToken",
                clusterName=self.cluster,
                namespace=self.namespace,
                serviceAccount=self.service_account,
                roleArn=wanted["roleArn"],
                tags={**wanted["tags"], **ctx.owner.tags(self.service_account)},
            )
        else:
            _eks.update_tags(ctx, current["associationArn"], change)
            if change.touches("roleArn"):
                ctx.aws.call(
                    "eks",
                    "update_pod_identity_association",
                    token="clientRequestToken",
                    clusterName=self.cluster,
                    associationId=current["associationId"],
                    roleArn=wanted["roleArn"],
                )

    def label(self, state: State) -> str:
        return f"{self.namespace}/{self.service_account}"
