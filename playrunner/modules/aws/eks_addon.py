"""aws.eks_addon: a component that EKS installs into a cluster and keeps up to date."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from playrunner.hostside.state import Change, State
from playrunner.modules.aws import _eks
from playrunner.text.documents import parse_yaml

if TYPE_CHECKING:
    from playrunner.run.context import Context


class EksAddon(_eks.EksModule):
    """An add-on: vpc-cni, coredns, kube-proxy, eks-pod-identity-agent, a CSI driver, ...

    A role for it by pod identity is an aws.eks_pod_identity of its service account; one by IRSA is
    service_account_role.
    """

    identity: ClassVar[tuple[str, ...]] = ("cluster", "name")
    settle_seconds: ClassVar[float] = 1200

    cluster: str  # the cluster's name
    name: str  # the add-on's name
    version: str | None = (
        # As v1.20.4-eksbuild.1; by default EKS's own choice when it is made, and then left alone
        None
    )
    service_account_role: str | None = None  # the ARN of the role its service account gets (IRSA)
    configuration: dict[str, Any] | None = None  # the add-on's own settings
    # What becomes of objects that are there already
    conflicts: Literal["OVERWRITE", "NONE", "PRESERVE"] = "OVERWRITE"
    # Wait until it is well; one that needs nodes is not, as long as there are none
    healthy: bool = True
    keep_objects: bool = False  # leave what it installed in the cluster when it is deleted
    tags: dict[str, str] = {}  # more tags, beside the owner's

    def observe(self, ctx: Context) -> State | None:
        answer = ctx.aws.read(
            "eks",
            "describe_addon",
            missing=_eks.MISSING,
            clusterName=self.cluster,
            addonName=self.name,
        )
        return (
            {**answer["addon"], "configuration": _configuration(answer["addon"])}
            if answer
            else None
        )

    def desired(self, ctx: Context, current: State | None) -> State:
        choices = {
            "addonVersion": self.version,
            "serviceAccountRoleArn": self.service_account_role,
            "configuration": self.configuration,
        }
        return {
            "tags": dict(self.tags),
            **{key: value for key, value in choices.items() if value is not None},
        }

    def moving(self, state: State) -> str | None:
        return (
            _eks.said(state)
            if state.get("status") == "DEGRADED" and self.healthy
            else super().moving(state)
        )

    def apply(self, ctx: Context, change: Change) -> None:
        of = {"clusterName": self.cluster, "addonName": self.name}
        wanted = dict(change.after or {})
        if change.removes or _eks.never_was(change.observed):
            ctx.aws.call("eks", "delete_addon", preserve=self.keep_objects, **of)
            return
        tags, settings = wanted.pop("tags"), wanted.pop("configuration", None)
        if settings is not None:
            wanted["configurationValues"] = json.dumps(settings, sort_keys=True)
        if change.creates:
            # EKS knows no PRESERVE for objects that it has not installed itself.
            conflicts = "NONE" if self.conflicts == "PRESERVE" else self.conflicts
            ctx.aws.call(
                "eks",
                "create_addon",
                token="clientRequestToken",
                resolveConflicts=conflicts,
                tags={**tags, **ctx.owner.tags(self.name)},
                **of,
                **wanted,
            )
            return
        _eks.update_tags(ctx, (change.observed or {})["addonArn"], change)
        if change.touches("addonVersion", "serviceAccountRoleArn", "configuration"):
            ctx.aws.call(
                "eks",
                "update_addon",
                token="clientRequestToken",
                resolveConflicts=self.conflicts,
                **of,
                **wanted,
            )

    def label(self, state: State) -> str:
        return f"{self.name} {state.get('addonVersion', '')}".strip()


def _configuration(addon: State) -> Any:
    """The settings as values: EKS keeps the text it was given, JSON or YAML."""
    text = addon.get("configurationValues")
    if not text:
        return {}
    return parse_yaml(str(text), "the settings of the addon in AWS", plain=True)
