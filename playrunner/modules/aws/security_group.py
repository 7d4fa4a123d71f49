"""aws.security_group: who may talk to whom, and about what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, with_plain_tags
from playrunner.modules.aws._ec2_rules import (
    TO_ANYWHERE,
    Rule,
    complaint,
    declared,
    observed,
    permission,
)

if TYPE_CHECKING:
    from playrunner.run.context import Context


class SecurityGroup(Ec2Module):
    """A security group, found by its name in its VPC; it has exactly the declared rules."""

    id_field, kind = "GroupId", "security-group"
    identity = ("name", "vpc_id")
    settle_seconds = 1200  # interfaces of what was deleted may use it for a while

    vpc_id: str  # the network
    description: str = ""  # what it is for; said when it is made, and not changed later
    ingress: list[
        dict[str, Any]
    ] = []  # as {ports: 988, cidr: ...}: protocol, ports; cidr, group, prefix_list or self
    egress: list[dict[str, Any]] = [
        {"protocol": "all", "cidr": "0.0.0.0/0"}
    ]  # the same; EFA needs self: true in both

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        return complaint(arguments.get("ingress") or (), incoming=True) or complaint(
            arguments.get("egress") or (), incoming=False
        )

    def observe(self, ctx: Context) -> State | None:
        only = [{"Name": "vpc-id", "Values": [self.vpc_id]}]
        every = ctx.aws.read("ec2", "describe_security_groups", Filters=only)["SecurityGroups"]
        found_group = with_plain_tags(
            next((group for group in every if group["GroupName"] == self.name), None)
        )
        return found_group and {
            **found_group,
            "ingress": observed(found_group.get("IpPermissions") or (), found_group["GroupId"]),
            "egress": observed(
                found_group.get("IpPermissionsEgress") or (), found_group["GroupId"]
            ),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return self.declared(ingress=declared(self.ingress), egress=declared(self.egress))

    def apply(self, ctx: Context, change: Change) -> None:
        seen = change.observed or {"ingress": [], "egress": [TO_ANYWHERE]}
        if change.creates:
            made = ctx.aws.call(
                "ec2",
                "create_security_group",
                GroupName=self.name,
                VpcId=self.vpc_id,
                Description=self.description or self.name,
                TagSpecifications=self.marked(ctx),
            )
            seen = {**seen, "GroupId": made["GroupId"]}
        group = seen["GroupId"]
        for direction in ("ingress", "egress"):
            # Two groups that name each other could never go, so a group that goes forgets the
            # others first.
            wanted = (
                change.after[direction]
                if change.after
                else [r for r in seen[direction] if not _names_another(r)]
            )
            self._allow(
                ctx, f"authorize_security_group_{direction}", group, wanted, seen[direction]
            )
            self._allow(ctx, f"revoke_security_group_{direction}", group, seen[direction], wanted)
        if change.removes:
            ctx.aws.call("ec2", "delete_security_group", GroupId=group)
        self.update_tags(ctx, change)

    def _allow(
        self, ctx: Context, operation: str, group: str, these: list[Rule], but_not: list[Rule]
    ) -> None:
        rules = [permission(rule, group) for rule in these if rule not in but_not]
        if rules:
            ctx.aws.call("ec2", operation, GroupId=group, IpPermissions=rules)


def _names_another(rule: Rule) -> bool:
    return rule["peer"].startswith("sg-")
