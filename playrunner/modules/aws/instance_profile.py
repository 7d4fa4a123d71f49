"""aws.instance_profile: the wrapping by which an EC2 instance gets a role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.aws.tags import plain, spelled
from playrunner.hostside.state import Change, State
from playrunner.modules.aws import _iam
from playrunner.modules.aws._identity import IdentityModule

if TYPE_CHECKING:
    from playrunner.run.context import Context


class InstanceProfile(IdentityModule):
    """An instance profile that holds one role."""

    name: str  # the profile's name
    role: str = ""  # the name of the role in it
    path: str = "/"  # the path in front of the name

    def observe(self, ctx: Context) -> State | None:
        answer = ctx.aws.read(
            "iam", "get_instance_profile", missing=_iam.MISSING, InstanceProfileName=self.name
        )
        if answer is None:
            return None
        profile = answer["InstanceProfile"]
        return {
            **profile,
            "Tags": plain(profile.get("Tags")),
            "RoleNames": [one["RoleName"] for one in profile["Roles"]],
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return {"RoleNames": [self.role] if self.role else [], "Tags": self.region_tag(ctx)}

    def apply(self, ctx: Context, change: Change) -> None:
        if change.creates:
            ctx.aws.call(
                "iam",
                "create_instance_profile",
                InstanceProfileName=self.name,
                Path=self.path,
                Tags=spelled({**self.region_tag(ctx), **ctx.owner.tags(self.name)}),
            )
        elif change.after is not None and change.touches("Tags"):
            ctx.aws.call(
                "iam",
                "tag_instance_profile",
                InstanceProfileName=self.name,
                Tags=spelled(change.after["Tags"]),
            )
        had, have = (
            set((state or {}).get("RoleNames", ())) for state in (change.observed, change.after)
        )
        for role in sorted(had - have):  # a profile holds one role, so the old one goes first
            ctx.aws.call(
                "iam",
                "remove_role_from_instance_profile",
                InstanceProfileName=self.name,
                RoleName=role,
            )
        for role in sorted(have - had):
            ctx.aws.call(
                "iam", "add_role_to_instance_profile", InstanceProfileName=self.name, RoleName=role
            )
        if change.removes:
            ctx.aws.call("iam", "delete_instance_profile", InstanceProfileName=self.name)

    def label(self, state: State) -> str:
        return str(state.get("InstanceProfileName", self.name))
