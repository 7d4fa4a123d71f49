"""Whether the region's quotas allow what a plan asks for, beside what is there already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from playrunner.cloud.preflight_findings import Finding, problem, warning
from playrunner.modules.gcp import _gke
from playrunner.modules.gcp._pool import Pool
from playrunner.modules.gcp._preflight.plan import PlannedCluster

if TYPE_CHECKING:
    from playrunner.run.context import Context

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


def complaints(ctx: Context, planned: PlannedCluster) -> Iterable[Finding]:
    region = (
        planned.location
        if planned.is_regional
        else (planned.location or ctx.gcp.zone).rpartition("-")[0]
    )
    answer = ctx.gcp.read("compute", f"projects/{ctx.gcp.project}/regions/{region}") or {}
    free = {
        str(quota["metric"]): float(quota["limit"]) - float(quota["usage"])
        for quota in answer.get("quotas") or ()
    }
    limits = {str(quota["metric"]): float(quota["limit"]) for quota in answer.get("quotas") or ()}
    new = [pool for pool in planned.pools if not _is_there(ctx, planned, pool)]
    now = _total(
        [_need(ctx, planned, pool, most=False) for pool in new] + [_disk_need(ctx, planned)]
    )
    for metric, amount in now.items():
        if metric in free and amount > free[metric]:
            yield problem(
                f"the plan needs {amount:g} of {metric} in {region} and {free[metric]:g} of"
                f" {limits[metric]:g} are left; ask for more at"
                f" https://console.cloud.google.com/iam-admin/quotas?project={ctx.gcp.project}, or"
                " declare less"
            )
    for pool in new:
        for metric, amount in _need(ctx, planned, pool, most=True).items():
            if metric in limits and amount > limits[metric] and metric not in now:
                yield warning(
                    f"the pool {pool.name} may grow to"
                    f" {planned.machines(pool, most=True)} machines, but the quota {metric} in"
                    f" {region} ({limits[metric]:g}) is less than their {amount:g}"
                )


def _need(ctx: Context, planned: PlannedCluster, pool: Pool, most: bool) -> dict[str, float]:
    count = planned.machines(pool, most)
    if not count:
        return {}
    zone = (
        (planned.location or ctx.gcp.zone) if not planned.is_regional else f"{planned.location}-a"
    )
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


def _disk_need(ctx: Context, planned: PlannedCluster) -> dict[str, float]:
    zone = ctx.gcp.zone if planned.is_regional or not planned.location else planned.location
    path = f"projects/{ctx.gcp.project}/zones/{zone}/disks"
    return _total(
        [
            {_DISKS[disk.type]: float(disk.size_gib)}
            for disk in planned.disks
            if disk.type in _DISKS and ctx.gcp.read("compute", f"{path}/{disk.name}") is None
        ]
    )


def _is_there(ctx: Context, planned: PlannedCluster, pool: Pool) -> bool:
    path = f"{_gke.cluster_path(ctx, planned.location, planned.cluster)}/nodePools/{pool.name}"
    return ctx.gcp.read("container", path) is not None


def _total(parts: Iterable[dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for part in parts:
        for metric, amount in part.items():
            total[metric] = total.get(metric, 0.0) + amount
    return total
