"""The machines behind a node pool: Compute Engine instances, started and stopped by GKE."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from playrunner.sandbox.gcp import quotas
from playrunner.sandbox.gcp.gcp_state import digest, now
from playrunner.sandbox.gcp.messages import Call, missing


def resize(
    call: Call,
    cluster: dict[str, Any],
    pool: dict[str, Any],
    per_zone: int,
    first: Collection[str] = (),
) -> str | None:
    """Start or stop some, those named `first` before others; the reason when there are none to be
    had."""
    state, there = call.state, call.state.nodes.setdefault(_key(call, cluster, pool), [])
    kind = pool["config"]["machineType"]
    for zone in pool["locations"]:
        here = [one for one in there if one["zone"].endswith(f"/{zone}")]
        here.sort(key=lambda one: one["name"] in first)
        for extra in here[per_zone:]:
            there.remove(extra)
        for _ in range(per_zone - len(here)):
            short = quotas.shortage(
                state, call.project, cluster["location"], quotas.of_machines(pool["config"], 1)
            )
            if short:
                return short
            if state.faults.no_capacity((zone,), kind):
                path = f"projects/{call.project}/zones/{zone}"
                return (
                    f"Google Compute Engine: The zone '{path}' does not have enough resources"
                    " available to fulfill the request.  Try a different zone, or try again later."
                    " (GCE_STOCKOUT)"
                )
            there.append(_instance(call, cluster, pool, zone))
    return None


def stop(call: Call, cluster: dict[str, Any], pool: dict[str, Any]) -> None:
    call.state.nodes.pop(_key(call, cluster, pool), None)


def count(call: Call, cluster: dict[str, Any], pool: dict[str, Any]) -> int:
    """How many there are in each zone."""
    there = call.state.nodes.get(_key(call, cluster, pool), [])
    return len(there) // max(1, len(pool["locations"]))


def all_instances(call: Call) -> dict[str, Any]:
    zones: dict[str, list[dict[str, Any]]] = {}
    for (project, *_), instances in call.state.nodes.items():
        for one in instances if project == call.project else ():
            if _fits(one, call.request.query.get("filter", "")):
                zones.setdefault(one["zone"].rpartition("/")[2], []).append(_shown(one))
    found = {f"zones/{zone}": {"instances": some} for zone, some in zones.items()}
    return {"kind": "compute#instanceAggregatedList", "items": found}


def _fits(instance: dict[str, Any], condition: str) -> bool:
    """Whether an instance has the values of a filter: `(status = RUNNING) (labels.a = b)`."""
    for path, value in re.findall(r"([\w.-]+)\s*=\s*\"?([^\s\")]+)", condition):
        found: Any = instance
        for part in path.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if found != value:
            return False
    return True


def list_instances(call: Call) -> dict[str, Any]:
    every = [
        instance
        for (project, *_), instances in call.state.nodes.items()
        for instance in instances
        if project == call.project and instance["zone"].endswith(f"/{call.location}")
    ]
    return {"kind": "compute#instanceList", "items": [_shown(instance) for instance in every]}


def get_group(call: Call) -> dict[str, Any]:
    """The group of a pool's machines in one zone: how many there shall be."""
    for (project, location, name), cluster in call.state.clusters.items():
        for pool in cluster["nodePools"] if project == call.project else ():
            if call.at["name"] == group_name(cluster, pool) and call.location in pool["locations"]:
                there = call.state.nodes.get((project, location, name, pool["name"]), [])
                here = [one for one in there if one["zone"].endswith(f"/{call.location}")]
                return {
                    "kind": "compute#instanceGroupManager",
                    "name": call.at["name"],
                    "targetSize": len(here),
                }
    raise missing(f"The resource '{call.request.path}' was not found")


def group_name(cluster: dict[str, Any], pool: dict[str, Any]) -> str:
    return f"gke-{cluster['name']}-{pool['name']}-{digest(cluster['id'], pool['name'])}-grp"


def _instance(
    call: Call, cluster: dict[str, Any], pool: dict[str, Any], zone: str
) -> dict[str, Any]:
    number = call.state.id()
    pool_digest = digest(cluster["id"], pool["name"])
    name = f"gke-{cluster['name']}-{pool['name']}-{pool_digest}-{digest(number, length=4)}"
    base = f"{call.request.base}/compute/v1/projects/{call.project}/zones/{zone}"
    config = pool["config"]
    made = {
        "kind": "compute#instance",
        "id": number,
        "name": name,
        "zone": base,
        "status": "PROVISIONING",
        "machineType": f"{base}/machineTypes/{config['machineType']}",
        "creationTimestamp": now(),
        "selfLink": f"{base}/instances/{name}",
        "tags": {"items": [f"gke-{cluster['name']}-{cluster['id'][:8]}-node"]},
        "labels": {
            "goog-gke-node": "",
            "goog-k8s-cluster-name": cluster["name"],
            "goog-k8s-node-pool-name": pool["name"],
            "goog-k8s-cluster-location": cluster["location"],
            **(config.get("resourceLabels") or {}),
        },
        "networkInterfaces": [_interface(call, cluster, zone)],
        "scheduling": {"provisioningModel": "SPOT" if config.get("spot") else "STANDARD"},
        "_config": config,
    }
    call.state.later("container.node.start", lambda: made.update(status="RUNNING"))
    return made


def _interface(call: Call, cluster: dict[str, Any], zone: str) -> dict[str, Any]:
    base = f"{call.request.base}/compute/v1/projects/{call.project}"
    region, number = zone.rpartition("-")[0], int(call.state.id())
    return {
        "name": "nic0",
        "network": f"{base}/global/networks/{cluster.get('network', 'default')}",
        "subnetwork": f"{base}/regions/{region}/subnetworks/{cluster.get('subnetwork', 'default')}",
        "networkIP": f"10.128.{number // 250 % 250}.{number % 250 + 2}",
    }


def _shown(instance: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in instance.items() if not name.startswith("_")}


def _key(call: Call, cluster: dict[str, Any], pool: dict[str, Any]) -> tuple[str, str, str, str]:
    return call.project, cluster["location"], cluster["name"], pool["name"]
