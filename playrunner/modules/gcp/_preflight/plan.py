"""What a plan asks of Google Cloud, as the roles' variables say it, and its price by the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from playrunner.cloud import prices
from playrunner.cloud.costs import PlanItem
from playrunner.frozen import frozen
from playrunner.modules.gcp._pool import Pool

_STORED = {
    "objects": ("bucket", prices.GCP_BUCKET_GIB),
    "images": ("repository", prices.GCP_IMAGE_GIB),
}
_IN_A_REGION = 3  # the zones that a cluster of a region has


@frozen
class Disk:
    """A disk that stands alone."""

    name: str
    type: str
    size_gib: int
    role: str = "nfs"


@frozen
class PlannedCluster:
    """All of a plan."""

    cluster: str = ""
    location: str = ""
    version: str = ""
    pools: tuple[Pool, ...] = ()
    disks: tuple[Disk, ...] = ()
    stored: tuple[tuple[str, str, str], ...] = ()  # name, role, what

    @property
    def is_regional(self) -> bool:
        return self.location.count("-") == 1

    def machines(self, pool: Pool, most: bool) -> int:
        """How many there are at first, or at most, in all zones."""
        zones = len(pool.locations) or (_IN_A_REGION if self.is_regional else 1)
        return zones * (
            (pool.max_nodes if most and pool.max_nodes is not None else pool.nodes) or 0
        )


def planned_of(
    cluster: Mapping[str, Any], pools: Sequence[Any], disks: Sequence[Any], stored: Sequence[Any]
) -> PlannedCluster:
    def pool(given: Mapping[str, Any]) -> Pool:
        plain = {name: value for name, value in given.items() if name != "replace"}
        scaled = plain.get("max_nodes") is not None and plain.get("nodes") is None
        return Pool.read({**plain, **({"nodes": plain.get("min_nodes") or 0} if scaled else {})})

    return PlannedCluster(
        str(cluster.get("name") or ""),
        str(cluster.get("location") or ""),
        str(cluster.get("version") or ""),
        tuple(pool(entry) for entry in pools),
        tuple(
            Disk(
                str(entry["name"]),
                str(entry["type"]),
                int(entry["size_gib"]),
                str(entry.get("role") or "nfs"),
            )
            for entry in disks
        ),
        tuple((str(entry["name"]), str(entry["role"]), str(entry["what"])) for entry in stored),
    )


def priced(planned: PlannedCluster, given: Mapping[str, float]) -> list[PlanItem]:
    return [
        *_cluster(planned),
        *(thing for pool in planned.pools for thing in _pool(planned, pool, given)),
        *map(_disk, planned.disks),
        *_stored(planned),
    ]


def _cluster(planned: PlannedCluster) -> Iterator[PlanItem]:
    if planned.cluster:
        note = "the first zonal one of a billing account is free" if not planned.is_regional else ""
        yield PlanItem(
            f"GKE control plane {planned.cluster}", "gke", prices.GKE_CLUSTER_HOUR, note=note
        )


def _pool(planned: PlannedCluster, pool: Pool, given: Mapping[str, float]) -> Iterator[PlanItem]:
    least, most = planned.machines(pool, most=False), planned.machines(pool, most=True)
    count = f"{most}" if least == most else f"{least} to {most}"
    text = f"{pool.name}: {count} x {pool.machine_type}" + " spot" * pool.spot
    hour = given.get(pool.machine_type, prices.GCP_MACHINE_HOUR.get(pool.machine_type))
    included = pool.machine_type.startswith(("a2-", "a3-", "g2-"))
    card = (
        0.0
        if included or not pool.accelerators
        else prices.GCP_ACCELERATOR_HOUR.get(pool.accelerator)
    )
    if hour is None or card is None:
        lacking = pool.machine_type if hour is None else pool.accelerator
        yield PlanItem(
            text, "gke", None, note=f"give preflight_prices a price for {lacking}", unlisted=True
        )
        return
    notes = ["only while pods need them"] * (least != most) + [
        "spot costs less, by how much is not known"
    ] * pool.spot
    yield PlanItem(
        text,
        "gke",
        (hour + card * pool.accelerators) * most,
        least != most or pool.spot,
        "; ".join(notes),
    )
    month = (
        prices.GCP_DISK_GIB.get(pool.disk_type, prices.GCP_DISK_GIB["pd-ssd"])
        * pool.disk_gib
        * most
    )
    yield PlanItem(
        f"{pool.name}: {count} x {pool.disk_gib} GiB {pool.disk_type}",
        "gke",
        month / prices.HOURS,
        least != most,
    )


def _disk(disk: Disk) -> PlanItem:
    price = prices.GCP_DISK_GIB.get(disk.type)
    text = f"{disk.name}: {disk.size_gib} GiB {disk.type}"
    if price is None:
        return PlanItem(
            text, disk.role, None, note=f"{disk.type} is not in the table", unlisted=True
        )
    return PlanItem(text, disk.role, price * disk.size_gib / prices.HOURS)


def _stored(planned: PlannedCluster) -> Iterator[PlanItem]:
    for name, role, what in planned.stored:
        kind, price = _STORED[what]
        yield PlanItem(
            f"{name}: {kind}", role, None, note=f"{price * 100:g} cents a month for each GiB in it"
        )
