"""What the EKS modules share: how EKS says that something is under way or went wrong, and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.hostside.state import Change, State
from playrunner.modules.aws._base import AwsModule

if TYPE_CHECKING:
    from playrunner.run.context import Context

MISSING = ("ResourceNotFoundException",)
UNDER_WAY = ("CREATING", "UPDATING", "DELETING", "PENDING")


class EksModule(AwsModule):
    """A thing of EKS with a status and a health of its own."""

    def moving(self, state: State) -> str | None:
        return said(state) if state.get("status") in UNDER_WAY else None

    def broken(self, state: State) -> str | None:
        return said(state) if str(state.get("status")).endswith("FAILED") else None

    def again(self, ctx: Context, state: State) -> bool:
        """What failed in an earlier run is created again; what failed in this one would only fail
        again."""
        return never_was(state) and not created_in_this_run(ctx)


def created_in_this_run(ctx: Context) -> bool:
    """Whether this run has asked EKS to create it."""
    return any(change.creates for change in ctx.applied)


def never_was(state: State | None) -> bool:
    """Whether EKS gave up making it: nothing can be done with it but delete it."""
    return state is not None and state.get("status") in ("CREATE_FAILED", "FAILED")


def said(state: State) -> str:
    """Its status, with the reasons that EKS gives."""
    issues = (state.get("health") or {}).get("issues") or []
    return ": ".join([str(state.get("status")), *([reasons(issues)] if issues else [])])


def reasons(issues: list[dict[str, Any]]) -> str:
    return "; ".join(
        f"{issue.get('code', '')}: {issue.get('message', '')}".strip(": ") for issue in issues
    )


def update_tags(ctx: Context, arn: str, change: Change) -> None:
    if change.touches("tags") and not change.creates and not change.removes:
        ctx.aws.call("eks", "tag_resource", resourceArn=arn, tags=(change.after or {})["tags"])
