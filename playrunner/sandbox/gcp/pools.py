"""Node pools of GKE clusters: their machines, accelerators, autoscaling, labels and taints."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playrunner.sandbox.gcp import catalogue, nodes, operation_lock, operations, quotas
from playrunner.sandbox.gcp.gcp_state import digest
from playrunner.sandbox.gcp.messages import Call, GcpError, missing

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
_CHANGES: dict[str, Callable[[Any], Any]] = {
    "labels": lambda spec: dict((spec or {}).get("labels") or {}),
    "taints": lambda spec: list((spec or {}).get("taints") or []),
    "resourceLabels": lambda spec: dict((spec or {}).get("labels") or {}),
    "tags": lambda spec: list((spec or {}).get("tags") or []),
    "workloadMetadataConfig": lambda spec: spec,
    "imageType": lambda spec: spec,
    "machineType": lambda spec: spec,
}


def create(call: Call) -> dict[str, Any]:
    cluster, spec = operation_lock.found(call), call.body.get("nodePool") or {}
    name = str(spec.get("name", ""))
    if any(pool["name"] == name for pool in cluster["nodePools"]):
        raise GcpError(409, f"Already exists: {_path(call, name)}.")
    operation_lock.refuse_busy(cluster)
    pool = described(call, cluster, spec)
    refuse_shortage(call, [pool])
    cluster["nodePools"].append(pool)
    fault = call.state.faults.fails_later("container", call.action, name)

    def finish() -> str | None:
        failed = operations.reason_of(fault, "internal error") if fault else None
        failed = failed or nodes.resize(call, cluster, pool, pool["initialNodeCount"])
        pool.update(status="ERROR" if failed else "RUNNING", statusMessage=failed or "")
        return failed

    return operation_lock.begin(call, cluster, "CREATE_NODE_POOL", "container.pool.create", finish)


def get(call: Call) -> dict[str, Any]:
    cluster = operation_lock.found(call)
    return shown(call, cluster, found(call, cluster))


def listing(call: Call) -> dict[str, Any]:
    cluster = operation_lock.found(call)
    return {"nodePools": [shown(call, cluster, pool) for pool in cluster["nodePools"]]}


def delete(call: Call) -> dict[str, Any]:
    cluster = operation_lock.found(call)
    pool = found(call, cluster)
    operation_lock.refuse_busy(cluster)
    pool["status"] = "STOPPING"
    fault = call.state.faults.fails_later("container", call.action, pool["name"])

    def finish() -> str | None:
        if fault:
            pool.update(status="ERROR", statusMessage=operations.reason_of(fault, "internal error"))
            return str(pool["statusMessage"])
        nodes.stop(call, cluster, pool)
        cluster["nodePools"].remove(pool)
        return None

    return operation_lock.begin(call, cluster, "DELETE_NODE_POOL", "container.pool.delete", finish)


def update(call: Call) -> dict[str, Any]:
    cluster = operation_lock.found(call)
    pool, spec = found(call, cluster), call.body
    operation_lock.refuse_busy(cluster)
    wanted = {name: read(spec[name]) for name, read in _CHANGES.items() if name in spec}
    version = spec.get("nodeVersion")
    if not wanted and not version:
        raise GcpError(400, "Nothing to update.")

    def put() -> None:
        pool["config"].update(wanted)
        if version:
            pool["version"] = cluster["currentMasterVersion"] if version == "-" else version

    return operation_lock.change(
        call, cluster, "UPDATE_CLUSTER", put, "container.pool.update", pool
    )


def set_autoscaling(call: Call) -> dict[str, Any]:
    cluster = operation_lock.found(call)
    pool, spec = found(call, cluster), dict(call.body.get("autoscaling") or {})
    operation_lock.refuse_busy(cluster)
    _check_autoscaling(spec)

    def put() -> str | None:
        pool["autoscaling"] = spec
        if spec.get("enabled"):
            least, most, now = (
                spec.get("minNodeCount", 0),
                spec["maxNodeCount"],
                nodes.count(call, cluster, pool),
            )
            return nodes.resize(call, cluster, pool, min(max(now, least), most))
        return None

    return operation_lock.change(
        call, cluster, "UPDATE_CLUSTER", put, "container.pool.update", pool
    )


def set_size(call: Call) -> dict[str, Any]:
    cluster = operation_lock.found(call)
    pool, wanted = found(call, cluster), int(call.body.get("nodeCount") or 0)
    operation_lock.refuse_busy(cluster)
    more = wanted - nodes.count(call, cluster, pool)
    if more > 0:
        refuse_shortage(call, [{**pool, "initialNodeCount": more}])
    return operation_lock.change(
        call,
        cluster,
        "SET_NODE_POOL_SIZE",
        lambda: nodes.resize(call, cluster, pool, wanted),
        "container.pool.update",
        pool,
    )


def set_management(call: Call) -> dict[str, Any]:
    cluster = operation_lock.found(call)
    pool, spec = found(call, cluster), dict(call.body.get("management") or {})
    operation_lock.refuse_busy(cluster)
    return operation_lock.change(
        call,
        cluster,
        "SET_NODE_POOL_MANAGEMENT",
        lambda: pool.update(management=spec),
        "container.pool.update",
        pool,
    )


def found(call: Call, cluster: dict[str, Any]) -> dict[str, Any]:
    pool = next((one for one in cluster["nodePools"] if one["name"] == call.at["pool"]), None)
    if pool is None:
        raise missing(_path(call, call.at["pool"]))
    return pool  # type: ignore[no-any-return]


def shown(call: Call, cluster: dict[str, Any], pool: dict[str, Any]) -> dict[str, Any]:
    base = f"{call.request.base}/compute/v1/projects/{call.project}/zones"
    group = f"instanceGroupManagers/{nodes.group_name(cluster, pool)}"
    return {**pool, "instanceGroupUrls": [f"{base}/{zone}/{group}" for zone in pool["locations"]]}


def described(call: Call, cluster: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """A pool as the API has it, with what the service fills in; nonsense is refused."""
    name = str(spec.get("name", ""))
    if not _NAME.fullmatch(name):
        raise GcpError(400, f"NodePool.name \"{name}\" must match the regex '(?:{_NAME.pattern})'.")
    asked = dict(spec.get("config") or {})
    config = {
        "machineType": "e2-medium",
        "diskSizeGb": 100,
        "diskType": "pd-balanced",
        "imageType": "COS_CONTAINERD",
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "serviceAccount": "default",
        **asked,
    }
    autoscaling = dict(spec.get("autoscaling") or {})
    _check_autoscaling(autoscaling)
    zones = list(spec.get("locations") or cluster["locations"])
    for zone in zones:
        catalogue.check_machine(zone, config["machineType"], config.get("accelerators") or [])
    taints = list(config.get("taints") or [])
    # GKE keeps other pods off GPU machines where there is another pool for them.
    if config.get("accelerators") and cluster.get("nodePools") and GPU_TAINT not in taints:
        config["taints"] = [*taints, GPU_TAINT]
    link = f"{cluster['selfLink']}/nodePools/{name}"
    return {
        "name": name,
        "config": config,
        "initialNodeCount": int(spec.get("initialNodeCount") or 0),
        "autoscaling": autoscaling,
        "locations": zones,
        "management": spec.get("management") or {"autoUpgrade": True, "autoRepair": True},
        "maxPodsConstraint": {"maxPodsPerNode": "110"},
        "version": cluster["currentMasterVersion"],
        "status": "PROVISIONING",
        "statusMessage": "",
        "selfLink": link,
        "etag": digest(name, call.state.id()),
    }


def refuse_shortage(call: Call, wanted: list[dict[str, Any]]) -> None:
    """All of the pools together must fit the quota."""
    need: dict[str, float] = {}
    for pool in wanted:
        for metric, amount in quotas.of_machines(
            pool["config"], pool["initialNodeCount"] * len(pool["locations"])
        ).items():
            need[metric] = need.get(metric, 0.0) + amount
    short = quotas.shortage(call.state, call.project, call.location, need)
    if short:
        raise GcpError(403, short)


def _check_autoscaling(spec: dict[str, Any]) -> None:
    if (
        spec.get("enabled")
        and not 0 <= int(spec.get("minNodeCount") or 0) <= int(spec.get("maxNodeCount") or 0) != 0
    ):
        raise GcpError(
            400,
            "NodePool.autoscaling.max_node_count must be at least 1 and not less than"
            " min_node_count.",
        )


def _path(call: Call, name: str) -> str:
    cluster = f"projects/{call.project}/locations/{call.location}/clusters/{call.at['cluster']}"
    return f"{cluster}/nodePools/{name}"
