"""Lists as tables, which is what `kubectl get` asks for; and objects less everything but their
metadata."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.messages import Request
from playrunner.sandbox.kube.store.store import Object

Columns = list[tuple[str, str, int, Callable[[Object], Any]]]  # name, type, priority, value


def wanted(request: Request) -> bool:
    return request.method == "GET" and "as=Table" in request.headers.get("Accept", "").split(",")[0]


def metadata_only(request: Request) -> bool:
    return "as=PartialObjectMetadata" in request.headers.get("Accept", "").split(",")[0]


def only_metadata(one: Object) -> Object:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": one["metadata"],
    }


def table(kind: Kind, objects: list[Object], request: Request) -> Object:
    """A table of these objects, with each one's metadata (or all of it) beside its row."""
    columns = _columns(kind)
    definitions = [
        {
            "name": name,
            "type": form,
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": priority,
        }
        for name, form, priority, _ in columns
    ]
    include = request.option("includeObject", "Metadata")
    rows = []
    for one in objects:
        row: Object = {"cells": [value(one) for _, _, _, value in columns]}
        if include != "None":
            row["object"] = one if include == "Object" else only_metadata(one)
        rows.append(row)
    metadata = {"resourceVersion": objects[0]["metadata"]["resourceVersion"]} if objects else {}
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _columns(kind: Kind) -> Columns:
    name: Columns = [("Name", "string", 0, lambda one: one["metadata"]["name"])]
    if kind.columns:
        return name + [_printer_column(each) for each in kind.columns]
    own = _BUILT_IN.get(kind.type_name, [])
    if kind.kind == "CustomResourceDefinition":
        return name + own
    always, wide = [each for each in own if not each[2]], [each for each in own if each[2]]
    return [*name, *always, ("Age", "string", 0, _age), *wide]


def _printer_column(column: dict[str, Any]) -> tuple[str, str, int, Callable[[Object], Any]]:
    path = column["jsonPath"]

    def value(one: Object) -> Any:
        found = at_path(one, path)
        if column["type"] == "date" and isinstance(found, str):
            return _since(found)
        return (
            found
            if found is None or column["type"] != "string" or isinstance(found, str)
            else str(found)
        )

    return column["name"], column["type"], column.get("priority", 0), value


def at_path(one: Object, path: str) -> Any:
    """As `.status.conditions[?(@.type=="Ready")].status`; the first that is there."""
    found: list[Any] = [one]
    steps = re.findall(
        r"\[\?\(@\.(\w+)\s*==\s*['\"]([^'\"]*)['\"]\)\]|\[(\d+|\*|-1)\]|\.((?:[^.\[\\]|\\.)+)", path
    )
    for key, wanted_value, index, name in steps:
        if name:
            plain = name.replace("\\.", ".")
            found = [each[plain] for each in found if isinstance(each, dict) and plain in each]
        elif key:
            found = [
                item
                for each in found
                if isinstance(each, list)
                for item in each
                if str(item.get(key)) == wanted_value
            ]
        elif index == "*":
            found = [item for each in found if isinstance(each, list) for item in each]
        else:
            found = [
                each[int(index)]
                for each in found
                if isinstance(each, list) and -len(each) <= int(index) < len(each)
            ]
    return found[0] if found else None


def _age(one: Object) -> str:
    return _since(one["metadata"].get("creationTimestamp", ""))


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
    def value(one: Object) -> Any:
        found: Any = one
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return default if found is None else found

    return value


def _pod_ready(one: Object) -> str:
    statuses = one.get("status", {}).get("containerStatuses", [])
    return f"{sum(bool(each.get('ready')) for each in statuses)}/{len(one['spec'].get('containers', ()))}"


def _pod_status(one: Object) -> str:
    status = one.get("status", {})
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
    return "Terminating" if one["metadata"].get("deletionTimestamp") else str(reason)


def _restarts(one: Object) -> str:
    return str(
        sum(
            each.get("restartCount", 0)
            for each in one.get("status", {}).get("containerStatuses", ())
        )
    )


def _ready_of(ready: str, total: str) -> Callable[[Object], str]:
    return lambda one: f"{one.get('status', {}).get(ready, 0)}/{one.get('spec', {}).get(total, 1)}"


def _node_status(one: Object) -> str:
    conditions = {
        each["type"]: each["status"] for each in one.get("status", {}).get("conditions", ())
    }
    state = {"True": "Ready", "False": "NotReady"}.get(conditions.get("Ready", ""), "Unknown")
    return state + (",SchedulingDisabled" if one.get("spec", {}).get("unschedulable") else "")


def _roles(one: Object) -> str:
    prefix = "node-role.kubernetes.io/"
    found = [
        key.removeprefix(prefix)
        for key in one["metadata"].get("labels") or {}
        if key.startswith(prefix)
    ]
    return ",".join(sorted(found)) or "<none>"


def _ports(one: Object) -> str:
    ports = one["spec"].get("ports", ())
    return (
        ",".join(
            f"{each['port']}{':' + str(each['nodePort']) if 'nodePort' in each else ''}/{each['protocol']}"
            for each in ports
        )
        or "<none>"
    )


def _job_status(one: Object) -> str:
    for each in one.get("status", {}).get("conditions", ()):
        if each["status"] == "True" and each["type"] in ("Complete", "Failed", "Suspended"):
            return str(each["type"])
    return "Running"


def _addresses(one: Object) -> str:
    found = [
        f"{address['ip']}:{port['port']}"
        for subset in one.get("subsets", ())
        for address in subset.get("addresses", ())
        for port in subset.get("ports", ())
    ]
    return ",".join(found) or "<none>"


_BUILT_IN: dict[str, Columns] = {
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
        (
            "Object",
            "string",
            0,
            lambda one: (
                f"{one.get('involvedObject', {}).get('kind', '').lower()}/{one.get('involvedObject', {}).get('name', '')}"
            ),
        ),
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
