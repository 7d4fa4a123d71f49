"""gcp.disk: a persistent disk of a zone. It is there whether or not a machine uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.gcp._base import GcpModule, short, with_marks

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Disk(GcpModule):
    """A disk. It can grow; its kind is fixed. One that is in use is waited for before it is
    deleted."""

    identity: ClassVar[tuple[str, ...]] = ("name", "zone")
    settle_seconds: ClassVar[float] = 900  # a machine that goes takes some minutes to let it go

    name: str  # small letters, digits and dashes
    size_gib: int  # grows in place, never shrinks
    type: Literal["pd-standard", "pd-balanced", "pd-ssd"] = "pd-balanced"  # fixed
    zone: str = ""  # by default the inventory's gcp_zone
    labels: dict[str, str] = {}  # more labels, beside the owner's

    def observe(self, ctx: Context) -> State | None:
        disk = ctx.gcp.read("compute", self._path(ctx))
        return (
            {
                **disk,
                "sizeGb": int(disk["sizeGb"]),
                "type": short(disk["type"]),
                "labels": disk.get("labels") or {},
            }
            if disk
            else None
        )

    def desired(self, ctx: Context, current: State | None) -> State:
        if current is not None and current["type"] != self.type:
            raise Failed(
                f"disk {self.name} is a {current['type']} and cannot become a {self.type}; give the"
                " new one another name, or delete this one first"
            )
        if current is not None and current["sizeGb"] > self.size_gib:
            raise Failed(
                f"disk {self.name} has {current['sizeGb']} GiB and cannot shrink to"
                f" {self.size_gib}; declare {current['sizeGb']}, or give a smaller one another name"
            )
        return {"sizeGb": self.size_gib, "type": self.type, "labels": dict(self.labels)}

    def apply(self, ctx: Context, change: Change) -> None:
        path, wanted = self._path(ctx), change.after or {}
        if change.removes:
            begun = ctx.gcp.call("DELETE", "compute", path, token=True)
        elif change.creates:
            zone = f"projects/{ctx.gcp.project}/zones/{self.zone or ctx.gcp.zone}"
            body = {
                "name": self.name,
                "sizeGb": str(self.size_gib),
                "type": f"{zone}/diskTypes/{self.type}",
                "labels": with_marks(ctx, change, "labels"),
            }
            begun = ctx.gcp.call("POST", "compute", path.rpartition("/")[0], body, token=True)
        elif change.touches("sizeGb"):
            begun = ctx.gcp.call(
                "POST", "compute", f"{path}/resize", {"sizeGb": str(wanted["sizeGb"])}, token=True
            )
        else:
            body = {
                "labels": with_marks(ctx, change, "labels"),
                "labelFingerprint": (change.observed or {})["labelFingerprint"],
            }
            begun = ctx.gcp.call("POST", "compute", f"{path}/setLabels", body, token=True)
        ctx.gcp.finished("compute", begun)

    def moving(self, state: State) -> str | None:
        return (
            str(state["status"]).lower()
            if state["status"] in ("CREATING", "RESTORING", "DELETING")
            else None
        )

    def broken(self, state: State) -> str | None:
        return (
            f"disk {self.name} has failed; delete it and create it again"
            if state["status"] == "FAILED"
            else None
        )

    def label(self, state: State) -> str:
        return f"{self.name} in {short(state.get('zone'))}"

    def _path(self, ctx: Context) -> str:
        return f"projects/{ctx.gcp.project}/zones/{self.zone or ctx.gcp.zone}/disks/{self.name}"
