"""AwsModule: what all modules of this folder share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.aws.tags import plain
from playrunner.cloud.resource import CloudModule
from playrunner.hostside.state import State

if TYPE_CHECKING:
    from playrunner.run.context import Context

_WHERE = ("Tags", "tags", "TagList", "TagSet", "FileSystemTags")


class AwsModule(CloudModule):
    """A thing in AWS; our tag is among its tags."""

    leased: ClassVar[bool] = True

    def ours(self, ctx: Context, state: State) -> bool:
        return bool(ctx.owner.owns(plain(tags_of(state))))


def tags_of(state: State) -> Any:
    """The tags in a state, wherever its service puts them."""
    return next((state[key] for key in _WHERE if state.get(key)), ())
