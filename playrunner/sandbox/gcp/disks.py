"""Persistent disks of a zone."""

from __future__ import annotations

import re
from typing import Any

from playrunner.sandbox.gcp import catalogue, operations, quotas
from playrunner.sandbox.gcp.gcp_state import Key, digest, now
from playrunner.sandbox.gcp.messages import Call, GcpError, missing

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
TYPES = ("pd-standard", "pd-balanced", "pd-ssd", "pd-extreme")


def insert(call: Call) -> dict[str, Any]:
    catalogue.check_zone(call)
    body = call.body
    name, base = (
        str(body.get("name", "")),
        f"{call.request.base}/compute/v1/projects/{call.project}",
    )
    kind = str(body.get("type") or "pd-standard").rpartition("/")[2]
    if not _NAME.fullmatch(name):
        raise GcpError(
            400,
            f"Invalid value for field 'resource.name': '{name}'. Must be a match of regex"
            f" '{_NAME.pattern}'",
        )
    if kind not in TYPES:
        raise GcpError(
            400,
            f"Invalid value for field 'resource.type': '{kind}'. The referenced diskType cannot be"
            " found.",
        )
    key = (call.project, call.location, name)
    if key in call.state.of("disks"):
        raise GcpError(
            409,
            f"The resource 'projects/{call.project}/zones/{call.location}/disks/{name}' already"
            " exists",
        )
    labels, zone = dict(body.get("labels") or {}), f"{base}/zones/{call.location}"
    disk = {
        "kind": "compute#disk",
        "id": call.state.id(),
        "name": name,
        "sizeGb": str(body.get("sizeGb") or "500"),
        "zone": zone,
        "type": f"{zone}/diskTypes/{kind}",
        "status": "CREATING",
        "selfLink": f"{zone}/disks/{name}",
        "labels": labels,
        "labelFingerprint": digest(sorted(labels.items())),
        "description": body.get("description", ""),
        "users": [],
        "creationTimestamp": now(),
        "physicalBlockSizeBytes": "4096",
    }
    quotas.refuse_disk(call, disk)
    call.state.of("disks")[key] = disk
    return operations.compute(
        call,
        "insert",
        disk,
        "compute.disk",
        lambda: disk.update(status="READY"),
        undo=lambda: call.state.of("disks").pop(key, None),
    )


def get(call: Call) -> dict[str, Any]:
    return found(call)


def listing(call: Call) -> dict[str, Any]:
    here = [
        one
        for (project, zone, _), one in call.state.of("disks").items()
        if (project, zone) == (call.project, call.location)
    ]
    return {"kind": "compute#diskList", "items": here}


def aggregated(call: Call) -> dict[str, Any]:
    places: dict[str, Any] = {}
    for (project, zone, _), disk in call.state.of("disks").items():
        if project == call.project:
            places.setdefault(f"zones/{zone}", {"disks": []})["disks"].append(disk)
    return {"kind": "compute#diskAggregatedList", "items": places}


def delete(call: Call) -> dict[str, Any]:
    disk = found(call)
    if disk["users"]:
        raise GcpError(
            400,
            f"The disk resource '{_path(call)}' is already being used by '{disk['users'][0]}'",
            reason="resourceInUseByAnotherResource",
        )
    disk["status"] = "DELETING"
    return operations.compute(
        call,
        "delete",
        disk,
        "compute.disk",
        lambda: call.state.of("disks").pop(_key(call), None),
        undo=lambda: disk.update(status="READY"),
    )


def resize(call: Call) -> dict[str, Any]:
    disk, size = found(call), int(call.body.get("sizeGb") or 0)
    if size < int(disk["sizeGb"]):
        raise GcpError(
            400,
            f"Invalid value for field 'sizeGb': '{size}'. Disk cannot be resized to a smaller"
            " size.",
        )
    more = {**disk, "sizeGb": str(size - int(disk["sizeGb"]))}
    quotas.refuse_disk(call, more)
    return operations.compute(
        call, "resize", disk, "compute.disk", lambda: disk.update(sizeGb=str(size))
    )


def set_labels(call: Call) -> dict[str, Any]:
    disk, body = found(call), call.body
    if body.get("labelFingerprint") != disk["labelFingerprint"]:
        raise GcpError(412, "Labels fingerprint either invalid or resource labels have changed")
    labels = dict(body.get("labels") or {})
    return operations.compute(
        call,
        "setLabels",
        disk,
        "compute.disk",
        lambda: disk.update(labels=labels, labelFingerprint=digest(sorted(labels.items()))),
    )


def found(call: Call) -> dict[str, Any]:
    catalogue.check_zone(call)
    disk = call.state.of("disks").get(_key(call))
    if disk is None:
        raise missing(f"The resource '{_path(call)}' was not found")
    return disk


def _key(call: Call) -> Key:
    return call.project, call.location, call.at["name"]


def _path(call: Call) -> str:
    return f"projects/{call.project}/zones/{call.location}/disks/{call.at['name']}"
