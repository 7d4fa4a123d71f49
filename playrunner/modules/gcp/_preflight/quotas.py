"""Whether the region's quotas allow what a plan asks for, beside what is there already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from playrunner.cloud.preflight_findings import Finding, problem, warning
from playrunner.modules.gcp import _gke
from playrunner.modules.gcp._pool import Pool
from playrunner.modules.gcp._preflight.plan import Wish

_CARDS = {
    "nvidia-tesla-a100": "NVIDIA_A100_GPUS",
    "nvidia-a100-80gb": "NVIDIA_A100_80GB_GPUS",
    "nvidia-tesla-t4": "NVIDIA_T4_GPUS",
    "nvidia-l4": "NVIDIA_L4_GPUS",
    "nvidia-tesla-v100": "NVIDIA_V100_GPUS",
    "nvidia-h100-80gb": "NVIDIA_H100_GPUS",
}
_DISKS = {"pd-ssd": "SSD_TOTAL_GB", "pd-balanced": "SSD_TOTAL_GB", "pd-standard": "DISKS_TOTAL_GB"}
_OWN_CPUS = {"a2": "A2_CPUS", "a3": "A3_CPUS", "n2": "N2_CPUS"}  # other families share CPUS


def complaints(ctx: Any, wish: Wish) -> Iterable[Finding]:
    region = (
        wish.location if wish.is_regional else (wish.location or ctx.gcp.zone).rpartition("-")[0]
    )
    said = ctx.gcp.read("compute", f"projects/{ctx.gcp.project}/regions/{region}") or {}
    free = {
        str(one["metric"]): float(one["limit"]) - float(one["usage"])
        for one in said.get("quotas") or ()
    }
    limits = {str(one["metric"]): float(one["limit"]) for one in said.get("quotas") or ()}
    new = [pool for pool in wish.pools if not _is_there(ctx, wish, pool)]
    now = _total([_need(ctx, wish, pool, most=False) for pool in new] + [_disk_need(ctx, wish)])
    for metric, amount in now.items():
        if metric in free and amount > free[metric]:
            yield problem(
                f"the plan needs {amount:g} of {metric} in {region} and {free[metric]:g} of"
                f" {limits[metric]:g} are left; ask for more at"
                f" https://console.cloud.google.com/iam-admin/quotas?project={ctx.gcp.project}, or"
                " declare less"
            )
    for pool in new:
        for metric, amount in _need(ctx, wish, pool, most=True).items():
            if metric in limits and amount > limits[metric] and metric not in now:
                yield warning(
                    f"the pool {pool.name} may grow to {wish.machines(pool, most=True)} machines,"
                    f" but the quota {metric} in {region} ({limits[metric]:g}) is less than their"
                    f" {amount:g}"
                )


def _need(ctx: Any, wish: Wish, pool: Pool, most: bool) -> dict[str, float]:
    count = wish.machines(pool, most)
    if not count:
        return {}
    zone = (wish.location or ctx.gcp.zone) if not wish.is_regional else f"{wish.location}-a"
    kind = (
        ctx.gcp.read(
            "compute", f"projects/{ctx.gcp.project}/zones/{zone}/machineTypes/{pool.machine_type}"
        )
        or {}
    )
    spot = "PREEMPTIBLE_" if pool.spot else ""
    family = _OWN_CPUS.get(pool.machine_type.partition("-")[0], f"{spot}CPUS")
    need = {family: float(kind.get("guestCpus") or 0) * count, "INSTANCES": float(count)}
    if pool.accelerator in _CARDS:
        need[f"{spot}{_CARDS[pool.accelerator]}"] = float(pool.accelerators * count)
    return need


def _disk_need(ctx: Any, wish: Wish) -> dict[str, float]:
    zone = ctx.gcp.zone if wish.is_regional or not wish.location else wish.location
    path = f"projects/{ctx.gcp.project}/zones/{zone}/disks"
    return _total(
        [
            {_DISKS[disk.type]: float(disk.size_gib)}
            for disk in wish.disks
            if disk.type in _DISKS and ctx.gcp.read("compute", f"{path}/{disk.name}") is None
        ]
    )


def _is_there(ctx: Any, wish: Wish, pool: Pool) -> bool:
    path = f"{_gke.cluster_path(ctx, wish.location, wish.cluster)}/nodePools/{pool.name}"
    return ctx.gcp.read("container", path) is not None


def _total(parts: Iterable[dict[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in parts:
        for metric, amount in part.items():
            found[metric] = found.get(metric, 0.0) + amount
    return found
