"""aws.elastic_ip: a public address that stays the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.aws.tags import mine
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, one

if TYPE_CHECKING:
    from playrunner.run.context import Context


class ElasticIp(Ec2Module):
    """A public address that stays the same, found by its name among those tagged as ours."""

    id_field, kind = "AllocationId", "elastic-ip"
    can_double = True
    settle_seconds = 900  # a NAT gateway lets go of its address only when it is quite gone

    def observe(self, ctx: Context) -> State | None:
        return one(
            ctx.aws.read("ec2", "describe_addresses", **mine(ctx.owner))["Addresses"], self.name
        )

    def desired(self, ctx: Context, current: State | None) -> State:
        return self.declared()

    def apply(self, ctx: Context, change: Change) -> None:
        if change.creates:
            ctx.aws.call(
                "ec2", "allocate_address", Domain="vpc", TagSpecifications=self.marked(ctx)
            )
        elif change.observed is not None and change.removes:
            ctx.aws.call("ec2", "release_address", AllocationId=change.observed["AllocationId"])
        self.update_tags(ctx, change)
