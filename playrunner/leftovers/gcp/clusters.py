"""GKE clusters, and node pools of ours in clusters of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playrunner.cloud import prices
from playrunner.gcp import marks
from playrunner.gcp.client import Gcp
from playrunner.leftovers.gcp.kind import GcpKind, path_of
from playrunner.leftovers.gcp.stacks import GcpStacks
from playrunner.leftovers.leftover import Leftover, ServiceResource


class Cluster(GcpKind):
    """A cluster; its pools and machines go with it, and are priced with it."""

    name, service = "GKE cluster", "container"
    gone_seconds = 3600

    def things(self, gcp: Gcp, stacks: GcpStacks) -> Iterable[ServiceResource]:
        for raw in gcp.listing(
            "container", f"projects/{gcp.project}/locations/-/clusters", "clusters"
        ):
            yield self.thing(raw, path_of(raw), monthly_dollars=_monthly(raw))

    def thing(self, raw: Mapping[str, Any], path: str, **more: Any) -> ServiceResource:
        state = str(raw.get("statusMessage") or "")
        return super().thing(
            raw, path, deleting=raw.get("status") == "STOPPING", state=state, **more
        )


class Pool(GcpKind):
    """A node pool tagged as ours in a cluster without it."""

    name, service = "GKE node pool", "container"
    gone_seconds = 1800

    def things(self, gcp: Gcp, stacks: GcpStacks) -> Iterable[ServiceResource]:
        for raw in gcp.listing(
            "container", f"projects/{gcp.project}/locations/-/clusters", "clusters"
        ):
            for pool in (
                raw.get("nodePools") or () if not stacks.kubernetes.get(str(raw["name"])) else ()
            ):
                yield self.thing(pool, path_of(pool), monthly_dollars=None)

    def thing(self, raw: Mapping[str, Any], path: str, **more: Any) -> ServiceResource:
        labels = marks.tags((raw.get("config") or {}).get("resourceLabels"))
        return super().thing(
            raw, path, tags=labels, deleting=raw.get("status") == "STOPPING", **more
        )

    def look(self, gcp: Gcp, leftover: Leftover) -> ServiceResource | None:
        found = gcp.read("container", leftover.id)
        return None if found is None else self.thing(found, leftover.id)


def _monthly(raw: Mapping[str, Any]) -> float | None:
    """Its control plane, and its machines when they are all of one known type."""
    machines = 0.0
    kinds = {
        str((pool.get("config") or {}).get("machineType"))
        for pool in raw.get("nodePools") or ()
        if not (pool.get("autoscaling") or {}).get("enabled")
    }
    if raw.get("currentNodeCount"):
        if len(kinds) != 1 or not kinds <= set(prices.GCP_MACHINE_HOUR):
            return None
        machines = prices.GCP_MACHINE_HOUR[kinds.pop()] * int(raw["currentNodeCount"])
    return (prices.GKE_CLUSTER_HOUR + machines) * prices.HOURS


KINDS: tuple[type[GcpKind], ...] = (Pool, Cluster)
