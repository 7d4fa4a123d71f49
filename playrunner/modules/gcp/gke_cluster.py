"""gcp.gke_cluster: a Kubernetes cluster of GKE with its first node pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.gcp import _gke
from playrunner.modules.gcp._base import short, with_marks
from playrunner.modules.gcp._pool import Pool

if TYPE_CHECKING:
    from playrunner.run.context import Context


class GkeCluster(_gke.GkeModule):
    """A control plane in one zone, or in a region (three zones, and three times the nodes).
    Channel, version, workload identity and labels are changed in place; its pools are
    gcp.gke_nodepool's, but for the first one, with which it is made."""

    identity: ClassVar[tuple[str, ...]] = ("name", "location")
    takes_along: ClassVar[bool] = True
    settle_seconds: ClassVar[float] = 3600  # a cluster takes about 5 minutes, an upgrade about 20

    name: str  # small letters, digits and dashes, 40 at most
    # A zone, or a region for a control plane in three zones; by default the inventory's gcp_zone
    location: str = ""
    # Who decides when it is upgraded
    release_channel: Literal["RAPID", "REGULAR", "STABLE", "EXTENDED", "NONE"] = "REGULAR"
    # Kubernetes' version, as 1.33; by default the channel's, and then left alone
    version: str | None = None
    workload_identity: bool = True  # whether pods may have service accounts of Google's
    network: str = ""  # the VPC's name; by default "default"
    subnetwork: str = ""  # the subnet's name
    pool: dict[
        str, Any
    ]  # the first pool: name, machine_type, nodes, disk_gib, ... as gcp.gke_nodepool has them
    labels: dict[str, str] = {}  # more labels, beside the owner's

    def observe(self, ctx: Context) -> State | None:
        cluster = ctx.gcp.read("container", _gke.cluster_path(ctx, self.location, self.name))
        return observed(cluster) if cluster else None

    def desired(self, ctx: Context, current: State | None) -> State:
        wanted: State = {
            "resourceLabels": dict(self.labels),
            "channel": _channel(self.release_channel),
            "workloadPool": f"{ctx.gcp.project}.svc.id.goog" if self.workload_identity else "",
        }
        if self.version:
            wanted["currentMasterVersion"] = _version(self.version, current)
        for key, value in (("network", self.network), ("subnetwork", self.subnetwork)):
            if value:
                wanted[key] = value
                self._refuse_other(current, key, value)
        if (
            current is not None
            and self.version
            and _minor(self.version) < _minor(current["currentMasterVersion"])
        ):
            raise Failed(
                f"cluster {self.name} has Kubernetes {current['currentMasterVersion']}, and GKE"
                f" never goes back to {self.version}; declare that or a later one"
            )
        return wanted

    def apply(self, ctx: Context, change: Change) -> None:
        path = _gke.cluster_path(ctx, self.location, self.name)
        if change.removes or _gke.never_was(change.observed):
            self.ask(ctx, "DELETE", path)
        elif change.creates:
            self.ask(ctx, "POST", path.rpartition("/")[0], {"cluster": self._new(ctx, change)})
        else:
            self._update_in_place(ctx, change, path)

    def label(self, state: State) -> str:
        return f"{state.get('name', self.name)} in {state.get('location', self.location)}"

    def _new(self, ctx: Context, change: Change) -> State:
        wanted = change.after or {}
        labels = with_marks(ctx, change, "resourceLabels")
        made: State = {
            "name": self.name,
            "resourceLabels": labels,
            "releaseChannel": {"channel": wanted["channel"]},
            "nodePools": [Pool.read(self.pool).document(labels)],
            "ipAllocationPolicy": {"useIpAliases": True},
        }
        if self.version:
            made["initialClusterVersion"] = self.version
        if wanted["workloadPool"]:
            made["workloadIdentityConfig"] = {"workloadPool": wanted["workloadPool"]}
        return {**made, **{key: wanted[key] for key in ("network", "subnetwork") if key in wanted}}

    def _update_in_place(self, ctx: Context, change: Change, path: str) -> None:
        """One update at a time, as GKE takes them; what still differs afterwards is applied in the
        next attempt."""
        wanted, found = change.after or {}, change.observed or {}
        if change.touches("resourceLabels"):
            body = {
                "resourceLabels": with_marks(ctx, change, "resourceLabels"),
                "labelFingerprint": found["labelFingerprint"],
            }
            self.ask(ctx, "POST", f"{path}:setResourceLabels", body)
        elif change.touches("channel"):
            self._update(ctx, path, desiredReleaseChannel={"channel": wanted["channel"]})
        elif change.touches("workloadPool"):
            self._update(
                ctx, path, desiredWorkloadIdentityConfig={"workloadPool": wanted["workloadPool"]}
            )
        elif "currentMasterVersion" in wanted and change.touches("currentMasterVersion"):
            self._update(ctx, path, desiredMasterVersion=wanted["currentMasterVersion"])

    def _update(self, ctx: Context, path: str, **part: Any) -> None:
        self.ask(ctx, "PUT", path, {"update": part})

    def _refuse_other(self, current: State | None, key: str, wanted: str) -> None:
        if current is not None and short(current.get(key)) != wanted:
            raise Failed(
                f"cluster {self.name} is in the {key} {current.get(key)}, not {wanted}: this is"
                " fixed when it is created; delete the cluster and create it again, or declare what"
                " it has"
            )


def observed(cluster: State) -> State:
    """A cluster as GKE describes it, with what is declared in one word at the top."""
    return {
        **cluster,
        "channel": _channel((cluster.get("releaseChannel") or {}).get("channel")),
        "workloadPool": (cluster.get("workloadIdentityConfig") or {}).get("workloadPool", ""),
        "network": short(f"/{cluster.get('network', '')}"),
        "subnetwork": short(f"/{cluster.get('subnetwork', '')}"),
        "resourceLabels": dict(cluster.get("resourceLabels") or {}),
    }


def _channel(said: Any) -> str:
    return "UNSPECIFIED" if said in (None, "", "NONE") else str(said)


def _version(wanted: str, current: State | None) -> str:
    """The version in use where the declared one covers it: 1.33 covers 1.33.5-gke.1162000."""
    version = str((current or {}).get("currentMasterVersion") or "")
    return (
        version if version == wanted or version.startswith((f"{wanted}.", f"{wanted}-")) else wanted
    )


def _minor(version: str) -> int:
    return int(str(version).split(".")[1])
