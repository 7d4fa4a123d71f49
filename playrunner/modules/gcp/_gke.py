"""What the GKE modules share: how GKE says that something is under way or went wrong, and where a
cluster is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from playrunner.cloud.resource import Refused
from playrunner.hostside.state import State
from playrunner.modules.gcp._base import GcpModule

if TYPE_CHECKING:
    from playrunner.run.context import Context

UNDER_WAY = ("PROVISIONING", "RECONCILING", "STOPPING")
BUSY_SECONDS = 0.5  # between asking and asking again
FAILED = ("ERROR", "DEGRADED", "RUNNING_WITH_ERROR")


class GkeModule(GcpModule):
    """A thing of GKE with a status of its own."""

    def moving(self, state: State) -> str | None:
        return said(state) if state.get("status") in UNDER_WAY else None

    def broken(self, state: State) -> str | None:
        return said(state) if state.get("status") in FAILED else None

    def again(self, ctx: Context, state: State) -> bool:
        """What failed in an earlier run is created again; what failed in this one would only fail
        again."""
        return never_was(state) and not any(change.creates for change in ctx.applied)

    def ask(self, ctx: Context, method: str, path: str, body: Any = None) -> None:
        """Send a change once GKE is idle: it makes one change to a cluster at a time."""
        deadline = time.monotonic() + self.settle_seconds
        while True:
            try:
                ctx.gcp.call(method, "container", path, body)
                return
            except Refused as refusal:
                if not refusal.in_use or time.monotonic() > deadline:
                    raise
                ctx.progress("the cluster is busy with something else")
                ctx.sleep(BUSY_SECONDS)


def never_was(state: State | None) -> bool:
    """Whether GKE gave up making it: nothing can be done with it but delete it."""
    return state is not None and state.get("status") == "ERROR"


def said(state: State) -> str:
    reasons = [
        str(state.get("statusMessage") or ""),
        *(str(one.get("message") or "") for one in state.get("conditions") or ()),
    ]
    return ": ".join(
        filter(None, [str(state["status"]), "; ".join(dict.fromkeys(filter(None, reasons)))])
    )


def cluster_path(ctx: Context, location: str, name: str) -> str:
    return f"projects/{ctx.gcp.project}/locations/{location or ctx.gcp.zone}/clusters/{name}"
