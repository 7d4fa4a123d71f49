"""`/_sandbox/pools`: every node pool with its machines, and a way to resize one, for the process
that plays the cluster's autoscaler.

`/_sandbox/disks`: every disk that is ready, for the process that plays its machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playrunner.sandbox.gcp import nodes
from playrunner.sandbox.gcp.catalogue import MACHINES
from playrunner.sandbox.gcp.gcp_state import GcpState
from playrunner.sandbox.gcp.messages import Call, Request
from playrunner.sandbox.http import control


def _pools(state: GcpState, body: Any, query: Mapping[str, str]) -> Any:
    state.timeline.catch_up()
    there = [
        _pool(state, key, cluster, pool)
        for key, cluster in state.clusters.items()
        for pool in cluster["nodePools"]
    ]
    clusters = [
        key[2] for key, cluster in state.clusters.items() if cluster["status"] != "PROVISIONING"
    ]
    return {
        "clusters": clusters,
        "pools": there,
        "gke_endpoint": state.settings.gke_endpoint,
        "idle_seconds": state.settings.idle_seconds,
    }


def _pool(
    state: GcpState, key: tuple[str, str, str], cluster: dict[str, Any], pool: dict[str, Any]
) -> dict[str, Any]:
    config, kind = pool["config"], MACHINES[pool["config"]["machineType"]]
    cards = [
        (accelerator["acceleratorType"], int(accelerator["acceleratorCount"]))
        for accelerator in config.get("accelerators") or ()
    ]
    card, count = cards[0] if cards else (kind.accelerator, kind.accelerators)
    machines = [
        {"name": node["name"], "status": node["status"], "zone": node["zone"].rpartition("/")[2]}
        for node in state.nodes.get((*key, pool["name"]), ())
    ]
    return {
        "project": key[0],
        "location": key[1],
        "cluster": key[2],
        "pool": pool["name"],
        "status": pool["status"],
        "cluster_status": cluster["status"],
        "machine_type": config["machineType"],
        "cpus": kind.cpus,
        "memory_gib": kind.memory_gib,
        "accelerator": card,
        "accelerators": count,
        "autoscaling": pool["autoscaling"],
        "labels": config.get("labels") or {},
        "taints": config.get("taints") or [],
        "spot": bool(config.get("spot")),
        "version": pool["version"],
        "nodes": machines,
    }


def _resize(state: GcpState, body: Any, query: Mapping[str, str]) -> Any:
    """The number of machines that the autoscaler wants, in each zone; within what the pool allows.
    `remove` go first."""
    key = (str(body["project"]), str(body["location"]), str(body["cluster"]))
    cluster = state.clusters.get(key)
    pool = next(
        (one for one in (cluster or {"nodePools": []})["nodePools"] if one["name"] == body["pool"]),
        None,
    )
    if cluster is None or pool is None:
        raise ValueError(f"there is no node pool {body['pool']} of {body['cluster']}")
    scale = pool["autoscaling"]
    if not scale.get("enabled"):
        raise ValueError(f"the node pool {pool['name']} has no autoscaling")
    size = min(
        max(int(body["size"]), int(scale.get("minNodeCount") or 0)), int(scale["maxNodeCount"])
    )
    base = str(cluster["selfLink"]).partition("/v1/")[0]
    call = Call(
        state, Request("POST", "", {}, {}, b"", base), at={"project": key[0], "location": key[1]}
    )
    return {
        "size": size,
        "refused": nodes.resize(call, cluster, pool, size, body.get("remove") or ()) or "",
    }


def _disks(state: GcpState, body: Any, query: Mapping[str, str]) -> Any:
    state.timeline.catch_up()
    return {
        "disks": [
            {"project": project, "zone": zone, "name": name, "id": disk["id"]}
            for (project, zone, name), disk in state.of("disks").items()
            if disk["status"] == "READY"
        ]
    }


MORE: dict[tuple[str, str], control.Handler] = {
    ("GET", "pools"): _pools,
    ("POST", "pools"): _resize,
    ("GET", "disks"): _disks,
}
