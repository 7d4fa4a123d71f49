"""The columns of tables: those of built-in kinds, and printer columns of custom resources."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.kube.store.store import Object

Columns = list[tuple[str, str, int, Callable[[Object], Any]]]  # name, type, priority, value


def printer_column(column: dict[str, Any]) -> tuple[str, str, int, Callable[[Object], Any]]:
    path = column["jsonPath"]

    def value(obj: Object) -> Any:
        content = at_path(obj, path)
        if column["type"] == "date" and isinstance(content, str):
            return _since(content)
        return (
            content
            if content is None or column["type"] != "string" or isinstance(content, str)
            else str(content)
        )

    return column["name"], column["type"], column.get("priority", 0), value


def at_path(obj: Object, path: str) -> Any:
    """As `.status.conditions[?(@.type=="Ready")].status`; the first that is there."""
    matches: list[Any] = [obj]
    steps = re.findall(
        r"\[\?\(@\.(\w+)\s*==\s*['\"]([^'\"]*)['\"]\)\]|\[(\d+|\*|-1)\]|\.((?:[^.\[\\]|\\.)+)", path
    )
    for key, wanted_value, index, name in steps:
        if name:
            plain = name.replace("\\.", ".")
            matches = [each[plain] for each in matches if isinstance(each, dict) and plain in each]
        elif key:
            matches = [
                item
                for each in matches
                if isinstance(each, list)
                for item in each
                if str(item.get(key)) == wanted_value
            ]
        elif index == "*":
            matches = [item for each in matches if isinstance(each, list) for item in each]
        else:
            matches = [
                each[int(index)]
                for each in matches
                if isinstance(each, list) and -len(each) <= int(index) < len(each)
            ]
    return matches[0] if matches else None


def age(obj: Object) -> str:
    return _since(obj["metadata"].get("creationTimestamp", ""))


def _since(moment: str) -> str:
    """As people say it: 5s, 3m, 2h, 4d."""
    try:
        then = datetime.fromisoformat(moment.replace("Z", "+00:00"))
    except ValueError:
        return "<unknown>"
    seconds = max(0, int((datetime.now(UTC) - then).total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _get(*path: str, default: Any = "<none>") -> Callable[[Object], Any]:
    def value(obj: Object) -> Any:
        content: Any = obj
        for name in path:
            content = content.get(name) if isinstance(content, dict) else None
        return default if content is None else content

    return value


def _pod_ready(pod: Object) -> str:
    statuses = pod.get("status", {}).get("containerStatuses", [])
    ready = sum(bool(status.get("ready")) for status in statuses)
    return f"{ready}/{len(pod['spec'].get('containers', ()))}"


def _pod_status(pod: Object) -> str:
    status = pod.get("status", {})
    reason = status.get("reason") or status.get("phase", "Pending")
    for each in status.get("initContainerStatuses", ()):
        waiting = each.get("state", {}).get("waiting", {}).get("reason")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
    for each in status.get("containerStatuses", ()):
        state = each.get("state", {})
        reason = (
            state.get("waiting", {}).get("reason")
            or state.get("terminated", {}).get("reason")
            or reason
        )
    return "Terminating" if pod["metadata"].get("deletionTimestamp") else str(reason)


def _restarts(pod: Object) -> str:
    return str(
        sum(
            each.get("restartCount", 0)
            for each in pod.get("status", {}).get("containerStatuses", ())
        )
    )


def _ready_of(ready: str, total: str) -> Callable[[Object], str]:
    return lambda one: f"{one.get('status', {}).get(ready, 0)}/{one.get('spec', {}).get(total, 1)}"


def _node_status(node: Object) -> str:
    conditions = {
        each["type"]: each["status"] for each in node.get("status", {}).get("conditions", ())
    }
    state = {"True": "Ready", "False": "NotReady"}.get(conditions.get("Ready", ""), "Unknown")
    return state + (",SchedulingDisabled" if node.get("spec", {}).get("unschedulable") else "")


def _roles(node: Object) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = [
        key.removeprefix(prefix)
        for key in node["metadata"].get("labels") or {}
        if key.startswith(prefix)
    ]
    return ",".join(sorted(roles)) or "<none>"


def _ports(service: Object) -> str:
    return ",".join(map(_port, service["spec"].get("ports", ()))) or "<none>"


def _port(port: Object) -> str:
    node_port = f":{port['nodePort']}" if "nodePort" in port else ""
    return f"{port['port']}{node_port}/{port['protocol']}"


def _event_object(event: Object) -> str:
    involved = event.get("involvedObject", {})
    return f"{involved.get('kind', '').lower()}/{involved.get('name', '')}"


def _job_status(job: Object) -> str:
    for each in job.get("status", {}).get("conditions", ()):
        if each["status"] == "True" and each["type"] in ("Complete", "Failed", "Suspended"):
            return str(each["type"])
    return "Running"


def _addresses(endpoints: Object) -> str:
    addresses = [
        f"{address['ip']}:{port['port']}"
        for subset in endpoints.get("subsets", ())
        for address in subset.get("addresses", ())
        for port in subset.get("ports", ())
    ]
    return ",".join(addresses) or "<none>"


BUILT_IN: dict[str, Columns] = {
    "core.v1.Pod": [
        ("Ready", "string", 0, _pod_ready),
        ("Status", "string", 0, _pod_status),
        ("Restarts", "string", 0, _restarts),
        ("IP", "string", 1, _get("status", "podIP")),
        ("Node", "string", 1, _get("spec", "nodeName")),
    ],
    "apps.v1.Deployment": [
        ("Ready", "string", 0, _ready_of("readyReplicas", "replicas")),
        ("Up-to-date", "string", 0, _get("status", "updatedReplicas", default=0)),
        ("Available", "string", 0, _get("status", "availableReplicas", default=0)),
    ],
    "apps.v1.StatefulSet": [("Ready", "string", 0, _ready_of("readyReplicas", "replicas"))],
    "apps.v1.ReplicaSet": [
        ("Desired", "integer", 0, _get("spec", "replicas", default=0)),
        ("Current", "integer", 0, _get("status", "replicas", default=0)),
        ("Ready", "integer", 0, _get("status", "readyReplicas", default=0)),
    ],
    "apps.v1.DaemonSet": [
        (name, "integer", 0, _get("status", field, default=0))
        for name, field in (
            ("Desired", "desiredNumberScheduled"),
            ("Current", "currentNumberScheduled"),
            ("Ready", "numberReady"),
            ("Up-to-date", "updatedNumberScheduled"),
            ("Available", "numberAvailable"),
        )
    ],
    "batch.v1.Job": [
        ("Status", "string", 0, _job_status),
        ("Completions", "string", 0, _ready_of("succeeded", "completions")),
    ],
    "core.v1.Node": [
        ("Status", "string", 0, _node_status),
        ("Roles", "string", 0, _roles),
        ("Version", "string", 0, _get("status", "nodeInfo", "kubeletVersion", default="")),
    ],
    "core.v1.Namespace": [("Status", "string", 0, _get("status", "phase", default="Active"))],
    "core.v1.Service": [
        ("Type", "string", 0, _get("spec", "type")),
        ("Cluster-IP", "string", 0, _get("spec", "clusterIP")),
        (
            "External-IP",
            "string",
            0,
            lambda one: "<pending>" if one["spec"].get("type") == "LoadBalancer" else "<none>",
        ),
        ("Port(s)", "string", 0, _ports),
    ],
    "core.v1.Endpoints": [("Endpoints", "string", 0, _addresses)],
    "core.v1.ConfigMap": [
        (
            "Data",
            "integer",
            0,
            lambda one: len(one.get("data") or {}) + len(one.get("binaryData") or {}),
        )
    ],
    "core.v1.Secret": [
        ("Type", "string", 0, _get("type")),
        ("Data", "integer", 0, lambda one: len(one.get("data") or {})),
    ],
    "core.v1.PersistentVolumeClaim": [
        ("Status", "string", 0, _get("status", "phase")),
        ("Volume", "string", 0, _get("spec", "volumeName", default="")),
        ("Capacity", "string", 0, _get("status", "capacity", "storage", default="")),
        ("StorageClass", "string", 0, _get("spec", "storageClassName", default="")),
    ],
    "core.v1.PersistentVolume": [
        ("Capacity", "string", 0, _get("spec", "capacity", "storage")),
        ("Reclaim Policy", "string", 0, _get("spec", "persistentVolumeReclaimPolicy")),
        ("Status", "string", 0, _get("status", "phase")),
        ("Claim", "string", 0, _get("spec", "claimRef", "name", default="")),
    ],
    "core.v1.Event": [
        ("Type", "string", 0, _get("type")),
        ("Reason", "string", 0, _get("reason")),
        ("Object", "string", 0, _event_object),
        ("Message", "string", 0, _get("message")),
    ],
    "storage.v1.StorageClass": [
        ("Provisioner", "string", 0, _get("provisioner")),
        ("ReclaimPolicy", "string", 0, _get("reclaimPolicy")),
    ],
    "apiextensions.v1.CustomResourceDefinition": [
        ("Created At", "date", 0, _get("metadata", "creationTimestamp"))
    ],
}
