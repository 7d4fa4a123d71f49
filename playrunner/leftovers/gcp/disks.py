"""Persistent disks: our own, which outlive their cluster, and those of a cluster's claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playrunner.cloud import prices
from playrunner.gcp.client import Gcp
from playrunner.leftovers.gcp.kind import GcpKind, path_of
from playrunner.leftovers.gcp.stacks import CLUSTER_LABEL, GcpStacks
from playrunner.leftovers.leftover import ServiceResource

_NODE = "goog-gke-node"  # on the disks of nodes, which go with them


class Disk(GcpKind):
    """A disk; one that a machine has is waited for."""

    name, service = "persistent disk", "compute"
    after = ("GKE cluster", "GKE node pool")
    gone_seconds = 900

    def things(self, gcp: Gcp, stacks: GcpStacks) -> Iterable[ServiceResource]:
        for raw in gcp.listing("compute", f"projects/{gcp.project}/aggregated/disks", "items"):
            if _NODE not in (raw.get("labels") or {}) or CLUSTER_LABEL not in (
                raw.get("labels") or {}
            ):
                yield self.thing(raw, path_of(raw))

    def thing(self, raw: Mapping[str, Any], path: str, **more: Any) -> ServiceResource:
        return super().thing(
            raw,
            path,
            deleting=raw.get("status") == "DELETING",
            monthly_dollars=prices.gcp_disk(raw),
            **more,
        )


KINDS: tuple[type[GcpKind], ...] = (Disk,)
