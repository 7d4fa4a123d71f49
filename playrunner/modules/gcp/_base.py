"""GcpModule: what all modules of this folder share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.cloud.resource import CloudModule
from playrunner.gcp import marks
from playrunner.hostside.state import Change, State

if TYPE_CHECKING:
    from playrunner.run.context import Context


class GcpModule(CloudModule):
    """A thing in Google Cloud; our label is among its labels."""

    def labels_of(self, state: State) -> dict[str, str]:
        """The labels it carries; services keep them in different places."""
        return dict(state.get("resourceLabels") or state.get("labels") or {})

    def ours(self, ctx: Context, state: State) -> bool:
        return marks.owns(ctx.owner, self.labels_of(state))


def with_marks(ctx: Context, change: Change, key: str) -> dict[str, str]:
    """What the labels shall be: those declared, on a thing that is there beside those it has; our
    mark on a new one."""
    wanted = (change.after or {}).get(key) or {}
    if change.observed is None:
        return marks.labels(ctx.owner, wanted)
    return {**(change.observed.get(key) or {}), **wanted}


def short(link: Any) -> str:
    """The name at the end of a thing's address."""
    return str(link or "").rpartition("/")[2]
