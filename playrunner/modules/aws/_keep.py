"""KeptModule: a thing that holds data; a tag on itself says whether a teardown leaves it, so that a
sweep that knows no inventory leaves it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.aws.tags import plain
from playrunner.cloud.owner import KEEP, is_kept
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._base import AwsModule, tags_of

if TYPE_CHECKING:
    from playrunner.run.context import Context

FIELD = "Keep"  # in states: whether the tag is there


class KeptModule(AwsModule):
    """A thing with a tag for `keep`."""

    def with_keep(self, state: State) -> State:
        return {**state, FIELD: is_kept(plain(tags_of(state)))}

    def kept(self, state: State) -> bool:
        return is_kept(plain(tags_of(state)))

    def update_keep(self, ctx: Context, change: Change) -> None:
        """Write the tag, or take it off; what is made has it from the start."""
        if change.observed is None or not change.touches(FIELD):
            return
        if (change.after or {})[FIELD]:
            self.set_tag(ctx, change.observed, KEEP, "true")
        else:
            self.remove_tag(ctx, change.observed, KEEP)

    def set_tag(self, ctx: Context, state: State, key: str, value: str) -> None:
        raise NotImplementedError

    def remove_tag(self, ctx: Context, state: State, key: str) -> None:
        raise NotImplementedError
