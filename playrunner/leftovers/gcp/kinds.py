"""Every kind of thing in Google Cloud that the sweep knows."""

from __future__ import annotations

from playrunner.leftovers.gcp import balancers, clusters, disks, stores
from playrunner.leftovers.gcp.kind import GcpKind

KINDS: tuple[GcpKind, ...] = tuple(
    kind() for file in (clusters, balancers, disks, stores) for kind in file.KINDS
)
BY_NAME: dict[str, GcpKind] = {kind.name: kind for kind in KINDS}
