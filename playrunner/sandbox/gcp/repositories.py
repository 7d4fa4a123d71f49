"""Artifact Registry: repositories for images."""

from __future__ import annotations

import re
from typing import Any

from playrunner.sandbox.gcp import operations
from playrunner.sandbox.gcp.gcp_state import Key, now
from playrunner.sandbox.gcp.messages import Call, GcpError, missing

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


def create(call: Call) -> dict[str, Any]:
    name, body = call.request.query.get("repositoryId", ""), call.body
    if not _NAME.fullmatch(name):
        raise GcpError(400, f'invalid repository ID "{name}"')
    if body.get("format") not in ("DOCKER", "PYTHON", "GENERIC"):
        raise GcpError(400, "unsupported repository format")
    key = (call.project, call.location, name)
    if key in call.state.repositories:
        raise GcpError(409, "the repository already exists")
    made = {
        **body,
        "name": _path(call, name),
        "createTime": now(),
        "updateTime": now(),
        "mode": "STANDARD_REPOSITORY",
        "sizeBytes": "0",
        "registryUri": f"{call.location}-docker.pkg.dev/{call.project}/{name}",
    }

    def finish() -> dict[str, Any]:
        call.state.repositories[key] = made
        return made

    return operations.long_running(call, "artifactregistry.repository", finish)


def get(call: Call) -> dict[str, Any]:
    return _found(call)


def listing(call: Call) -> dict[str, Any]:
    return {
        "repositories": [
            one
            for (project, place, _), one in call.state.repositories.items()
            if project == call.project and call.location in ("-", place)
        ]
    }


def patch(call: Call) -> dict[str, Any]:
    found, body = _found(call), call.body
    fields = [name for name in call.request.query.get("updateMask", "").split(",") if name]
    found.update({name: body.get(name) for name in fields or body}, updateTime=now())
    return found


def delete(call: Call) -> dict[str, Any]:
    _found(call)

    def finish() -> dict[str, Any]:
        call.state.repositories.pop(_key(call), None)
        return {}

    return operations.long_running(call, "artifactregistry.repository", finish)


def list_images(call: Call) -> dict[str, Any]:
    _found(call)
    return {"dockerImages": []}


def list_locations(call: Call) -> dict[str, Any]:
    names = ("us-central1", "us-west1", "us-east1", "europe-west4", "us", "europe")
    return {
        "locations": [
            {"name": f"projects/{call.project}/locations/{name}", "locationId": name}
            for name in names
        ]
    }


def _found(call: Call) -> dict[str, Any]:
    found = call.state.repositories.get(_key(call))
    if found is None:
        raise missing(f"Requested entity was not found: {_path(call, call.at['name'])}")
    return found


def _key(call: Call) -> Key:
    return call.project, call.location, call.at["name"]


def _path(call: Call, name: str) -> str:
    return f"projects/{call.project}/locations/{call.location}/repositories/{name}"
