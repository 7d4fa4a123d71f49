"""aws.placement_group: instances close to each other, or far apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, refuse_to_change, with_plain_tags

if TYPE_CHECKING:
    from playrunner.run.context import Context


class PlacementGroup(Ec2Module):
    """Instances close to each other (or far apart), known by its name in the region."""

    id_field, kind = "GroupName", "placement-group"
    settle_seconds = 900  # it stays until the last instance in it is gone

    # cluster: in one rack's reach, for EFA
    strategy: Literal["cluster", "spread", "partition"] = "cluster"

    def observe(self, ctx: Context) -> State | None:
        every = ctx.aws.read("ec2", "describe_placement_groups")["PlacementGroups"]
        group = next(
            (
                item
                for item in every
                if item["GroupName"] == self.name and item["State"] != "deleted"
            ),
            None,
        )
        return with_plain_tags(group)

    def desired(self, ctx: Context, current: State | None) -> State:
        return self.declared(Strategy=self.strategy)

    def apply(self, ctx: Context, change: Change) -> None:
        if change.after is None:
            ctx.aws.call("ec2", "delete_placement_group", GroupName=self.name)
            return
        refuse_to_change(change, "Strategy")
        if change.creates:
            ctx.aws.call(
                "ec2",
                "create_placement_group",
                GroupName=self.name,
                Strategy=change.after["Strategy"],
                TagSpecifications=self.marked(ctx),
            )
        elif change.observed is not None and change.touches("Tags"):
            by_id = {
                **change.observed,
                self.id_field: change.observed["GroupId"],
            }  # tags go by id, all else by name
            self.update_tags(ctx, Change(change.before, change.after, by_id))

    def moving(self, state: State) -> str | None:
        return state["State"] if state["State"] in ("pending", "deleting") else None
