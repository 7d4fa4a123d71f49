"""aws.log_group: a CloudWatch log group that forgets in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.hostside.state import Change, State
from playrunner.modules.aws._base import AwsModule

if TYPE_CHECKING:
    from playrunner.run.context import Context

_DAYS = (
    1,
    3,
    5,
    7,
    14,
    30,
    60,
    90,
    120,
    150,
    180,
    365,
    400,
    545,
    731,
    1096,
    1827,
    2192,
    2557,
    2922,
    3288,
    3653,
)


class LogGroup(AwsModule):
    """Where a service writes its logs. One that a service makes by itself keeps them, and is
    billed, for ever."""

    name: str  # as /aws/eks/NAME/cluster
    retention_days: int = 30  # how long lines are kept; 0: for ever

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        """Only some numbers of days exist."""
        if arguments.get("retention_days", 30) not in (0, *_DAYS):
            return f"retention_days is 0 (for ever) or one of {', '.join(map(str, _DAYS))}"
        return None

    def observe(self, ctx: Context) -> State | None:
        groups = ctx.aws.read("logs", "describe_log_groups", logGroupNamePrefix=self.name)[
            "logGroups"
        ]
        group = next(
            (candidate for candidate in groups if candidate["logGroupName"] == self.name), None
        )
        if group is None:
            return None
        answer = ctx.aws.read(
            "logs",
            "list_tags_for_resource",
            ("ResourceNotFoundException",),
            resourceArn=group["arn"].removesuffix(":*"),
        )
        return {
            **group,
            "retentionInDays": group.get("retentionInDays", 0),
            "tags": (answer or {}).get("tags", {}),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return {"retentionInDays": self.retention_days}

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes:
            ctx.aws.call("logs", "delete_log_group", logGroupName=self.name)
            return
        if change.creates:
            ctx.aws.call(
                "logs", "create_log_group", logGroupName=self.name, tags=ctx.owner.tags(self.name)
            )
        days = (change.after or {})["retentionInDays"]
        if days:
            ctx.aws.call(
                "logs", "put_retention_policy", logGroupName=self.name, retentionInDays=days
            )
        elif not change.creates:
            ctx.aws.call("logs", "delete_retention_policy", logGroupName=self.name)

    def label(self, state: State) -> str:
        return self.name
