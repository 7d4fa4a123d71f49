"""GKE clusters: made, described, changed and deleted, one operation on each at a time."""

from __future__ import annotations

import re
from typing import Any

from playrunner.sandbox.gcp import (
    catalogue,
    networking,
    nodes,
    operation_lock,
    operations,
    pools,
    versions,
)
from playrunner.sandbox.gcp.gcp_state import digest, now
from playrunner.sandbox.gcp.messages import Call, GcpError

# Where nothing listens: the endpoint of a cluster while there is no Kubernetes API
NO_LISTENER = "127.0.0.1:1"
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
_UPDATES = {  # what an update says: the field it sets
    "desiredReleaseChannel": "releaseChannel",
    "desiredWorkloadIdentityConfig": "workloadIdentityConfig",
    "desiredLoggingService": "loggingService",
    "desiredMonitoringService": "monitoringService",
    "desiredAddonsConfig": "addonsConfig",
    "desiredLocations": "locations",
    "desiredShieldedNodes": "shieldedNodes",
    "desiredMasterAuthorizedNetworksConfig": "masterAuthorizedNetworksConfig",
}


def create(call: Call) -> dict[str, Any]:
    spec = call.body.get("cluster") or {}
    name = str(spec.get("name", ""))
    if not _NAME.fullmatch(name):
        raise GcpError(400, f"Cluster.name \"{name}\" must match the regex '(?:{_NAME.pattern})'.")
    if not catalogue.known(call.location):
        raise GcpError(400, f'Location "{call.location}" does not exist.')
    key = (call.project, call.location, name)
    if key in call.state.clusters:
        raise GcpError(
            409,
            f"Already exists: projects/{call.project}/locations/{call.location}/clusters/{name}.",
        )
    declared = spec.get("nodePools") or [
        {
            "name": "default-pool",
            "initialNodeCount": int(spec.get("initialNodeCount") or 0),
            "config": spec.get("nodeConfig") or {},
        }
    ]
    if not spec.get("nodePools") and not spec.get("initialNodeCount"):
        raise GcpError(400, "Cluster.initial_node_count must be greater than zero.")
    cluster = _described(call, spec, name)
    cluster["nodePools"] = [pools.described(call, cluster, one) for one in declared]
    pools.refuse_shortage(call, cluster["nodePools"])
    call.state.clusters[key] = cluster
    networking.open_cluster(call, cluster)
    fault = call.state.faults.fails_later("container", call.action, name)

    def finish() -> str | None:
        if call.state.clusters.get(key) is not cluster or cluster["status"] != "PROVISIONING":
            return "the cluster was deleted meanwhile"
        failed = operations.reason_of(fault, "internal error") if fault else ""
        for pool in () if failed else cluster["nodePools"]:
            failed = failed or nodes.resize(call, cluster, pool, pool["initialNodeCount"]) or ""
            pool["status"] = "ERROR" if failed else "RUNNING"
        _settle(cluster, "ERROR" if failed else "RUNNING", failed)
        return failed or None

    return operation_lock.begin(call, cluster, "CREATE_CLUSTER", "container.cluster.create", finish)


def get(call: Call) -> dict[str, Any]:
    return shown(call, operation_lock.found(call))


def listing(call: Call) -> dict[str, Any]:
    every = [
        one
        for (project, location, _), one in sorted(call.state.clusters.items())
        if project == call.project and call.location in ("-", location)
    ]
    return {"clusters": [shown(call, one) for one in every]}


def delete(call: Call) -> dict[str, Any]:
    cluster = operation_lock.found(call)
    key = operation_lock.key_of(call)
    running = cluster.get("_operation")
    if cluster["status"] == "STOPPING" or (
        running and running["operationType"] != "CREATE_CLUSTER"
    ):
        operation_lock.refuse_busy(cluster)
    cluster["status"] = "STOPPING"
    fault = call.state.faults.fails_later("container", call.action, cluster["name"])

    def finish() -> str | None:
        if fault:
            _settle(cluster, "ERROR", operations.reason_of(fault, "internal error"))
            return str(cluster["statusMessage"])
        for pool in cluster["nodePools"]:
            nodes.stop(call, cluster, pool)
        networking.close_cluster(call, cluster)
        call.state.clusters.pop(key, None)
        return None

    return operation_lock.begin(call, cluster, "DELETE_CLUSTER", "container.cluster.delete", finish)


def update(call: Call) -> dict[str, Any]:
    cluster, spec = operation_lock.found(call), call.body.get("update") or {}
    operation_lock.refuse_busy(cluster)
    version = spec.get("desiredMasterVersion")
    wanted = {_UPDATES[name]: value for name, value in spec.items() if name in _UPDATES}
    if version:
        wanted["currentMasterVersion"] = versions.resolved(str(version))
    unknown = sorted(set(spec) - set(_UPDATES) - {"desiredMasterVersion"})
    if unknown or not wanted:
        raise GcpError(400, f"the sandbox does not update {', '.join(unknown) or 'nothing'}")
    return operation_lock.change(
        call,
        cluster,
        "UPGRADE_MASTER" if version else "UPDATE_CLUSTER",
        lambda: cluster.update(wanted),
    )


def set_labels(call: Call) -> dict[str, Any]:
    cluster, spec = operation_lock.found(call), call.body
    operation_lock.refuse_busy(cluster)
    if spec.get("labelFingerprint") != cluster["labelFingerprint"]:
        raise GcpError(412, "Labels could not be set due to fingerprint mismatch.")
    labels = dict(spec.get("resourceLabels") or {})

    def put() -> None:
        cluster.update(resourceLabels=labels, labelFingerprint=digest(sorted(labels.items())))

    return operation_lock.change(call, cluster, "UPDATE_CLUSTER", put)


def server_config(call: Call) -> dict[str, Any]:
    return versions.server_config()


def shown(call: Call, cluster: dict[str, Any]) -> dict[str, Any]:
    """As the API has it: the number of nodes is counted when it is asked for."""
    key = call.project, cluster["location"], cluster["name"]
    count = sum(
        len(call.state.nodes.get((*key, pool["name"]), ())) for pool in cluster["nodePools"]
    )
    public = {name: value for name, value in cluster.items() if not name.startswith("_")}
    settings = call.state.settings
    if settings.gke_endpoint:  # the API server may have come up after the cluster
        public |= {
            "endpoint": settings.gke_endpoint,
            "masterAuth": {"clusterCaCertificate": settings.gke_certificate_authority or ""},
        }
    return {
        **public,
        "currentNodeCount": count,
        "nodePools": [pools.shown(call, cluster, one) for one in cluster["nodePools"]],
    }


def _settle(cluster: dict[str, Any], status: str, reason: str) -> None:
    cluster.update(status=status, statusMessage=reason)
    cluster["conditions"] = (
        [{"code": "UNKNOWN", "canonicalCode": "INTERNAL", "message": reason}] if reason else []
    )


def _described(call: Call, spec: dict[str, Any], name: str) -> dict[str, Any]:
    version = versions.resolved(str(spec.get("initialClusterVersion") or "-"))
    labels = dict(spec.get("resourceLabels") or {})
    return {
        **{
            key: value
            for key, value in spec.items()
            if key not in ("initialNodeCount", "nodeConfig", "nodePools")
        },
        "name": name,
        "id": digest(call.state.id(), length=64),
        "location": call.location,
        "zone": call.location,
        "locations": sorted(spec.get("locations") or catalogue.zones_of(call.location)),
        "status": "PROVISIONING",
        "selfLink": (
            f"{call.request.base}/v1/projects/{call.project}/locations/{call.location}/clusters/{name}"
        ),
        "endpoint": NO_LISTENER,
        "masterAuth": {"clusterCaCertificate": ""},
        "initialClusterVersion": version,
        "currentMasterVersion": version,
        "currentNodeVersion": version,
        "createTime": now(),
        "network": spec.get("network") or "default",
        "subnetwork": spec.get("subnetwork") or "default",
        "clusterIpv4Cidr": "10.44.0.0/14",
        "servicesIpv4Cidr": "10.48.0.0/20",
        "resourceLabels": labels,
        "labelFingerprint": digest(sorted(labels.items())),
        "loggingService": "logging.googleapis.com/kubernetes",
        "monitoringService": "monitoring.googleapis.com/kubernetes",
        "releaseChannel": spec.get("releaseChannel") or {"channel": "REGULAR"},
        "autopilot": {},
        "etag": digest(name, now()),
    }
