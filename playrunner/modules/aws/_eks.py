"""What the EKS modules share: how EKS says that something is under way or went wrong, and tags."""

from __future__ import annotations

from typing import Any

from playrunner.hostside.state import Change, State
from playrunner.modules.aws._base import AwsModule

MISSING = ("ResourceNotFoundException",)
UNDER_WAY = ("CREATING", "UPDATING", "DELETING", "PENDING")


class EksModule(AwsModule):
    """A thing of EKS with a status and a health of its own."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._asked_for_here = False  # whether this run has asked EKS to make it

    def moving(self, state: State) -> str | None:
        return said(state) if state.get("status") in UNDER_WAY else None

    def broken(self, state: State) -> str | None:
        return said(state) if str(state.get("status")).endswith("FAILED") else None

    def again(self, ctx: Any, state: State) -> bool:
        """What failed in an earlier run is made anew; what failed in this one would only fail
        again."""
        return never_was(state) and not self._asked_for_here


def never_was(state: State | None) -> bool:
    """Whether EKS gave up making it: nothing can be done with it but delete it."""
    return state is not None and state.get("status") in ("CREATE_FAILED", "FAILED")


def said(state: State) -> str:
    """Its status, with the reasons that EKS gives."""
    issues = (state.get("health") or {}).get("issues") or []
    return ": ".join([str(state.get("status")), *([reasons(issues)] if issues else [])])


def reasons(issues: list[dict[str, Any]]) -> str:
    return "; ".join(
        f"{one.get('code', '')}: {one.get('message', '')}".strip(": ") for one in issues
    )


def mend_tags(ctx: Any, arn: str, change: Change) -> None:
    if change.touches("tags") and not change.creates and not change.removes:
        ctx.aws.call("eks", "tag_resource", resourceArn=arn, tags=(change.after or {})["tags"])
