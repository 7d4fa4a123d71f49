"""aws.security_group_rule: one rule of ours in a group that a service made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.aws.tags import plain, specification
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._base import AwsModule

if TYPE_CHECKING:
    from playrunner.run.context import Context


class SecurityGroupRule(AwsModule):
    """Lets the members of one group reach a TCP port of the members of another; its other rules are
    left alone."""

    identity: ClassVar[tuple[str, ...]] = ("group_id", "from_group_id", "port")

    name: str  # its Name tag
    group_id: str  # the group that is reached, as sg-...
    from_group_id: str  # the group that may reach it
    port: int  # the TCP port

    def observe(self, ctx: Context) -> State | None:
        answer = ctx.aws.read(
            "ec2",
            "describe_security_group_rules",
            missing=("InvalidGroup.NotFound", "InvalidGroupId.NotFound"),
            Filters=[{"Name": "group-id", "Values": [self.group_id]}],
        )
        rules: list[State] = [
            dict(rule)
            for rule in (answer or {}).get("SecurityGroupRules") or ()
            if not rule.get("IsEgress")
            and rule.get("IpProtocol") in ("tcp", "-1")
            and (rule.get("ReferencedGroupInfo") or {}).get("GroupId") == self.from_group_id
            and (rule.get("FromPort") in (self.port, -1, None))
        ]
        return {**rules[0], "Tags": plain(rules[0].get("Tags"))} if rules else None

    def desired(self, ctx: Context, current: State | None) -> State:
        return {"IsEgress": False}

    def apply(self, ctx: Context, change: Change) -> None:
        pair: dict[str, Any] = {"GroupId": self.from_group_id, "Description": self.name}
        rule = {
            "IpProtocol": "tcp",
            "FromPort": self.port,
            "ToPort": self.port,
            "UserIdGroupPairs": [pair],
        }
        if change.removes:
            ctx.aws.call(
                "ec2",
                "revoke_security_group_ingress",
                GroupId=self.group_id,
                SecurityGroupRuleIds=[(change.observed or {})["SecurityGroupRuleId"]],
            )
        elif change.creates:
            ctx.aws.call(
                "ec2",
                "authorize_security_group_ingress",
                GroupId=self.group_id,
                IpPermissions=[rule],
                TagSpecifications=specification("security-group-rule", ctx.owner.tags(self.name)),
            )

    def label(self, state: State) -> str:
        return str(state.get("SecurityGroupRuleId", ""))
