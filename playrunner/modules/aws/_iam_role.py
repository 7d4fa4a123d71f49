"""An IAM role with its policies: what aws.iam_role and aws.service_account_role have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.aws.tags import DESCRIBED, plain, spelled
from playrunner.hostside.state import Change, State
from playrunner.modules.aws import _iam
from playrunner.modules.aws._identity import IdentityModule

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Role(IdentityModule):
    """A role; who may assume it is said by what inherits from this."""

    name: str  # the role's name
    # Exactly these are attached: ARNs, or bare names of policies that AWS manages
    managed_policies: list[str] | None = None
    # By name: a document, or a list of statements; others are left alone
    inline_policies: dict[str, Any] | None = None
    path: str = "/"  # the path in front of the name
    description: str = ""  # what it is for
    max_session_seconds: int = 3600  # how long a session may last
    # The ARN of a policy that bounds what the role may be given; by default the variable
    # aws_permissions_boundary
    permissions_boundary: str = ""
    tags: dict[str, str] = {}  # more tags, beside the owner's

    def trust_document(self, ctx: Context) -> dict[str, Any]:
        raise NotImplementedError

    def observe(self, ctx: Context) -> State | None:
        answer = ctx.aws.read("iam", "get_role", missing=_iam.MISSING, RoleName=self.name)
        if answer is None:
            return None
        role = {**answer["Role"], "Tags": plain(answer["Role"].get("Tags"))}
        if self.managed_policies is not None:
            role["AttachedPolicies"] = sorted(self._attached(ctx))
        if self.inline_policies is not None:
            policies = {name: self._inline(ctx, name) for name in self.inline_policies}
            role["InlinePolicies"] = {
                name: policy for name, policy in policies.items() if policy is not None
            }
        return role

    def desired(self, ctx: Context, current: State | None) -> State:
        wanted: State = {
            "AssumeRolePolicyDocument": self.trust_document(ctx),
            "MaxSessionDuration": self.max_session_seconds,
            "Description": f"{self.description} {DESCRIBED}{ctx.owner.cluster})".strip(),
            "Tags": {**plain(self.tags), **self.region_tag(ctx)},
        }
        if self.managed_policies is not None:
            wanted["AttachedPolicies"] = _iam.policy_arns(ctx, self.managed_policies)
        if self.inline_policies is not None:
            wanted["InlinePolicies"] = {
                name: _iam.document(policy) for name, policy in self.inline_policies.items()
            }
        return wanted

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes:
            self._remove(ctx)
            return
        assert change.after is not None
        if change.creates:
            self._create(ctx, change.after)
        else:
            self._update(ctx, change)
        self._update_policies(ctx, change.observed or {}, change.after)

    def label(self, state: State) -> str:
        return str(state.get("RoleName", self.name))

    def _create(self, ctx: Context, wanted: State) -> None:
        boundary = self.permissions_boundary or ctx.clouds.permissions_boundary(ctx.scope)
        more: dict[str, Any] = {"PermissionsBoundary": boundary} if boundary else {}
        if wanted.get("Description"):
            more["Description"] = wanted["Description"]
        ctx.aws.call(
            "iam",
            "create_role",
            RoleName=self.name,
            Path=self.path,
            MaxSessionDuration=wanted["MaxSessionDuration"],
            AssumeRolePolicyDocument=_iam.written(wanted["AssumeRolePolicyDocument"]),
            Tags=spelled({**wanted["Tags"], **ctx.owner.tags(self.name)}),
            **more,
        )

    def _update(self, ctx: Context, change: Change) -> None:
        wanted = change.after or {}
        if change.touches("AssumeRolePolicyDocument"):
            ctx.aws.call(
                "iam",
                "update_assume_role_policy",
                RoleName=self.name,
                PolicyDocument=_iam.written(wanted["AssumeRolePolicyDocument"]),
            )
        if change.touches("MaxSessionDuration", "Description"):
            described = {"Description": wanted["Description"]} if "Description" in wanted else {}
            ctx.aws.call(
                "iam",
                "update_role",
                RoleName=self.name,
                MaxSessionDuration=wanted["MaxSessionDuration"],
                **described,
            )
        if change.touches("Tags"):
            ctx.aws.call("iam", "tag_role", RoleName=self.name, Tags=spelled(wanted["Tags"]))

    def _update_policies(self, ctx: Context, current: State, wanted: State) -> None:
        had, have = (
            set(current.get("AttachedPolicies") or ()),
            set(wanted.get("AttachedPolicies") or ()),
        )
        for arn in sorted(have - had):
            ctx.aws.call("iam", "attach_role_policy", RoleName=self.name, PolicyArn=arn)
        for arn in sorted(had - have) if "AttachedPolicies" in wanted else ():
            ctx.aws.call("iam", "detach_role_policy", RoleName=self.name, PolicyArn=arn)
        inline = current.get("InlinePolicies") or {}
        for name, policy in (wanted.get("InlinePolicies") or {}).items():
            if policy is None:  # taken back to a time when it was not there
                ctx.aws.call("iam", "delete_role_policy", RoleName=self.name, PolicyName=name)
            elif inline.get(name) != policy:
                ctx.aws.call(
                    "iam",
                    "put_role_policy",
                    RoleName=self.name,
                    PolicyName=name,
                    PolicyDocument=_iam.written(policy),
                )

    def _remove(self, ctx: Context) -> None:
        """IAM deletes only a bare role, so everything attached to it is detached first, declared
        or not."""
        of = {"RoleName": self.name}
        for arn in self._attached(ctx):
            ctx.aws.call("iam", "detach_role_policy", PolicyArn=arn, **of)
        for name in (
            ctx.aws.read("iam", "list_role_policies", missing=_iam.MISSING, **of) or {}
        ).get("PolicyNames", ()):
            ctx.aws.call("iam", "delete_role_policy", PolicyName=name, **of)
        profiles = (
            ctx.aws.read("iam", "list_instance_profiles_for_role", missing=_iam.MISSING, **of) or {}
        )
        for profile in profiles.get("InstanceProfiles", ()):
            ctx.aws.call(
                "iam",
                "remove_role_from_instance_profile",
                InstanceProfileName=profile["InstanceProfileName"],
                **of,
            )
        ctx.aws.call("iam", "delete_role", **of)

    def _attached(self, ctx: Context) -> list[str]:
        answer = (
            ctx.aws.read(
                "iam", "list_attached_role_policies", missing=_iam.MISSING, RoleName=self.name
            )
            or {}
        )
        return [policy["PolicyArn"] for policy in answer.get("AttachedPolicies", ())]

    def _inline(self, ctx: Context, name: str) -> dict[str, Any] | None:
        answer = ctx.aws.read(
            "iam", "get_role_policy", missing=_iam.MISSING, RoleName=self.name, PolicyName=name
        )
        return _iam.document(answer["PolicyDocument"]) if answer else None
