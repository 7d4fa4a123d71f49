"""aws.iam_policy: a policy of the account's own, to be attached to roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.aws.tags import plain, spelled
from playrunner.hostside.state import Change, State
from playrunner.modules.aws import _iam
from playrunner.modules.aws._identity import IdentityModule

if TYPE_CHECKING:
    from playrunner.run.context import Context

MOST_VERSIONS = 5  # IAM keeps no more; the oldest makes room


class IamPolicy(IdentityModule):
    """A customer-managed policy; a new document becomes its default version."""

    name: str  # the policy's name
    document: Any  # the policy document, or its list of statements
    path: str = "/"  # the path in front of the name
    description: str = ""  # what it is for; IAM never changes it afterwards
    tags: dict[str, str] = {}  # more tags, beside the owner's

    def arn(self, ctx: Context) -> str:
        return f"arn:{ctx.aws.partition}:iam::{ctx.aws.account}:policy{self.path}{self.name}"

    def observe(self, ctx: Context) -> State | None:
        arn = self.arn(ctx)
        answer = ctx.aws.read("iam", "get_policy", missing=_iam.MISSING, PolicyArn=arn)
        if answer is None:
            return None
        policy = {**answer["Policy"], "Tags": plain(answer["Policy"].get("Tags"))}
        version = ctx.aws.read(
            "iam",
            "get_policy_version",
            missing=_iam.MISSING,
            PolicyArn=arn,
            VersionId=policy["DefaultVersionId"],
        )
        return {
            **policy,
            "Document": _iam.document(version["PolicyVersion"]["Document"]) if version else None,
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return {
            "Document": _iam.document(self.document),
            "Tags": {**plain(self.tags), **self.region_tag(ctx)},
        }

    def apply(self, ctx: Context, change: Change) -> None:
        arn, wanted = self.arn(ctx), change.after or {}
        if change.removes:
            for version in self._spare_versions(ctx, arn):
                ctx.aws.call("iam", "delete_policy_version", PolicyArn=arn, VersionId=version)
            ctx.aws.call("iam", "delete_policy", PolicyArn=arn)
        elif change.creates:
            described = {"Description": self.description} if self.description else {}
            ctx.aws.call(
                "iam",
                "create_policy",
                PolicyName=self.name,
                Path=self.path,
                **described,
                PolicyDocument=_iam.written(wanted["Document"]),
                Tags=spelled({**wanted["Tags"], **ctx.owner.tags(self.name)}),
            )
        else:
            if change.touches("Document"):
                for version in self._spare_versions(ctx, arn)[MOST_VERSIONS - 2 :]:
                    ctx.aws.call("iam", "delete_policy_version", PolicyArn=arn, VersionId=version)
                ctx.aws.call(
                    "iam",
                    "create_policy_version",
                    PolicyArn=arn,
                    SetAsDefault=True,
                    PolicyDocument=_iam.written(wanted["Document"]),
                )
            if change.touches("Tags"):
                ctx.aws.call("iam", "tag_policy", PolicyArn=arn, Tags=spelled(wanted["Tags"]))

    def label(self, state: State) -> str:
        return str(state.get("PolicyName", self.name))

    def _spare_versions(self, ctx: Context, arn: str) -> list[str]:
        """The versions that are not in force, newest first."""
        answer = (
            ctx.aws.read("iam", "list_policy_versions", missing=_iam.MISSING, PolicyArn=arn) or {}
        )
        spare = [
            policy_version["VersionId"]
            for policy_version in answer.get("Versions", ())
            if not policy_version["IsDefaultVersion"]
        ]
        return sorted(spare, key=lambda version: int(version.removeprefix("v")), reverse=True)
