"""Quotas of a region: how much may be had, how much is used, and the refusal when that is not
enough."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.gcp.catalogue import MACHINES, REGIONS, region_of
from playrunner.sandbox.gcp.gcp_state import GcpState, digest
from playrunner.sandbox.gcp.messages import Call, GcpError, missing

LIMITS = {
    "CPUS": 200.0,
    "A2_CPUS": 400.0,
    "INSTANCES": 100.0,
    "IN_USE_ADDRESSES": 50.0,
    "SSD_TOTAL_GB": 4000.0,
    "DISKS_TOTAL_GB": 8000.0,
    "NVIDIA_A100_GPUS": 32.0,
    "NVIDIA_T4_GPUS": 8.0,
    "NVIDIA_L4_GPUS": 8.0,
    "NVIDIA_V100_GPUS": 8.0,
    "PREEMPTIBLE_CPUS": 400.0,
    "PREEMPTIBLE_NVIDIA_A100_GPUS": 32.0,
    "PREEMPTIBLE_NVIDIA_T4_GPUS": 8.0,
    "NETWORKS": 5.0,
}
_CARDS = {
    "nvidia-tesla-a100": "NVIDIA_A100_GPUS",
    "nvidia-tesla-t4": "NVIDIA_T4_GPUS",
    "nvidia-l4": "NVIDIA_L4_GPUS",
    "nvidia-tesla-v100": "NVIDIA_V100_GPUS",
}
_DISKS = {"pd-ssd": "SSD_TOTAL_GB", "pd-balanced": "SSD_TOTAL_GB", "pd-standard": "DISKS_TOTAL_GB"}


def of_machines(config: dict[str, Any], count: int) -> dict[str, float]:
    """What so many machines of a node pool's kind need."""
    kind = MACHINES[config["machineType"]]
    cards = {
        str(one["acceleratorType"]): int(one["acceleratorCount"])
        for one in config.get("accelerators") or ()
    }
    if kind.accelerator:
        cards = {kind.accelerator: kind.accelerators}
    spot = "PREEMPTIBLE_" if config.get("spot") or config.get("preemptible") else ""
    need = {
        f"{spot}{kind.family}" if kind.family == "CPUS" else kind.family: float(kind.cpus * count),
        "INSTANCES": float(count),
    }
    need |= {
        f"{spot}{_CARDS[name]}": float(number * count)
        for name, number in cards.items()
        if name in _CARDS
    }
    return need


def of_disk(disk: dict[str, Any]) -> dict[str, float]:
    return {
        _DISKS.get(str(disk["type"]).rpartition("/")[2], "DISKS_TOTAL_GB"): float(disk["sizeGb"])
    }


def limit(state: GcpState, metric: str) -> float:
    return float(state.settings.quotas.get(metric, LIMITS.get(metric, 1e9)))


def usage(state: GcpState, project: str, region: str) -> dict[str, float]:
    used: dict[str, float] = {}
    for (owner, location, _, _), instances in state.nodes.items():
        if owner == project and region_of(location) == region:
            for instance in instances:
                _add(used, of_machines(instance["_config"], 1))
    for (owner, zone, _), disk in state.of("disks").items():
        if owner == project and region_of(zone) == region:
            _add(used, of_disk(disk))
    return used


def shortage(state: GcpState, project: str, location: str, need: dict[str, float]) -> str:
    """Why this cannot be had, in the container API's words; empty when it can."""
    region = region_of(location)
    used = usage(state, project, region)
    for metric, wanted in need.items():
        most, taken = limit(state, metric), used.get(metric, 0.0)
        if taken + wanted > most:
            return (
                f'Insufficient regional quota to satisfy request: resource "{metric}": request'
                f" requires '{wanted}' and is short '{taken + wanted - most}'. project has a quota"
                f" of '{most}' with '{most - taken}' available. View and manage quotas at"
                f" https://console.cloud.google.com/iam-admin/quotas?usage=USED&project={project}."
            )
    return ""


def refuse_disk(call: Call, disk: dict[str, Any]) -> None:
    region = region_of(call.location)
    used = usage(call.state, call.project, region)
    for metric, wanted in of_disk(disk).items():
        most = limit(call.state, metric)
        if used.get(metric, 0.0) + wanted > most:
            raise GcpError(
                403,
                f"Quota '{metric}' exceeded.  Limit: {most} in region {region}.",
                reason="quotaExceeded",
            )


def get_region(call: Call) -> dict[str, Any]:
    name = call.at["name"]
    if name not in REGIONS:
        raise missing(f"The resource 'projects/{call.project}/regions/{name}' was not found")
    return _region(call, name)


def list_regions(call: Call) -> dict[str, Any]:
    return {"kind": "compute#regionList", "items": [_region(call, name) for name in REGIONS]}


def _region(call: Call, name: str) -> dict[str, Any]:
    used = usage(call.state, call.project, name)
    base = f"{call.request.base}/compute/v1/projects/{call.project}"
    shown = [
        {"metric": metric, "limit": limit(call.state, metric), "usage": used.get(metric, 0.0)}
        for metric in LIMITS
    ]
    return {
        "kind": "compute#region",
        "id": str(int(digest(name), 16)),
        "name": name,
        "description": name,
        "status": "UP",
        "quotas": shown,
        "zones": [f"{base}/zones/{name}-{letter}" for letter in REGIONS[name]],
        "selfLink": f"{base}/regions/{name}",
    }


def _add(total: dict[str, float], more: dict[str, float]) -> None:
    for metric, amount in more.items():
        total[metric] = total.get(metric, 0.0) + amount
