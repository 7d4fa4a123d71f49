"""Cloud Storage: buckets and their objects. Names are one for all of Google Cloud."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any
from urllib.parse import quote, unquote

from playrunner.sandbox.gcp.gcp_state import now
from playrunner.sandbox.gcp.messages import Call, GcpError, Reply, json_reply, missing

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")


def insert(call: Call) -> dict[str, Any]:
    body, project = call.body, call.request.query.get("project", "")
    name = str(body.get("name", ""))
    if not _NAME.fullmatch(name):
        raise GcpError(400, f"Invalid bucket name: '{name}'")
    there = call.state.buckets.get(name)
    if there is not None:
        ours = there["_project"] == project
        raise GcpError(
            409,
            (
                "Your previous request to create the named bucket succeeded and you already own it."
                if ours
                else (
                    "The requested bucket name is not available. The bucket namespace is shared by"
                    " all users of the system."
                )
            ),
            reason="conflict",
        )
    bucket = {
        "kind": "storage#bucket",
        "id": name,
        "name": name,
        "location": "US",
        "storageClass": "STANDARD",
        "labels": {},
        "iamConfiguration": {
            "uniformBucketLevelAccess": {"enabled": False},
            "publicAccessPrevention": "inherited",
        },
        **body,
        "projectNumber": "123456789012",
        "timeCreated": now(),
        "updated": now(),
        "metageneration": "1",
        "etag": "CAE=",
        "selfLink": f"{call.request.base}/storage/v1/b/{name}",
        "_project": project,
    }
    bucket["location"] = str(bucket["location"]).upper()
    call.state.buckets[name], call.state.objects[name] = bucket, {}
    return _shown(bucket)


def get(call: Call) -> dict[str, Any]:
    return _shown(_bucket(call))


def listing(call: Call) -> dict[str, Any]:
    project = call.request.query.get("project", "")
    ours = [_shown(one) for one in call.state.buckets.values() if one["_project"] == project]
    return {"kind": "storage#buckets", "items": ours}


def patch(call: Call) -> dict[str, Any]:
    bucket = _bucket(call)
    _merge(bucket, call.body)
    bucket.update(updated=now(), metageneration=str(int(bucket["metageneration"]) + 1))
    return _shown(bucket)


def delete(call: Call) -> Reply:
    bucket = _bucket(call)
    if call.state.objects[bucket["name"]]:
        raise GcpError(
            409, "The bucket you tried to delete is not empty.", "FAILED_PRECONDITION", "conflict"
        )
    del call.state.buckets[bucket["name"]], call.state.objects[bucket["name"]]
    return Reply(204, b"")


def list_objects(call: Call) -> dict[str, Any]:
    inside, start = call.state.objects[_bucket(call)["name"]], call.request.query.get("prefix", "")
    return {
        "kind": "storage#objects",
        "items": [_shown(one) for name, one in sorted(inside.items()) if name.startswith(start)],
    }


def upload(call: Call) -> dict[str, Any]:
    """In one piece, with or without a description before it."""
    bucket, request = _bucket(call)["name"], call.request
    name, content, kind = (
        request.query.get("name", ""),
        request.body,
        request.headers.get("content-type", ""),
    )
    if request.query.get("uploadType") == "multipart":
        boundary = kind.split("boundary=")[1].strip("\"' ").encode()
        first, second = [
            part.partition(b"\r\n\r\n")[2] for part in request.body.split(b"--" + boundary)[1:3]
        ]
        name, content = json.loads(first).get("name") or name, second.removesuffix(b"\r\n")
    made = {
        "kind": "storage#object",
        "id": f"{bucket}/{name}/1",
        "name": name,
        "bucket": bucket,
        "size": str(len(content)),
        "md5Hash": base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode(),
        "timeCreated": now(),
        "updated": now(),
        "generation": "1",
        "metageneration": "1",
        "contentType": "application/octet-stream",
        "selfLink": f"{request.base}/storage/v1/b/{bucket}/o/{quote(name, safe='')}",
        "_content": content,
        "mediaLink": (
            f"{request.base}/download/storage/v1/b/{bucket}/o/{quote(name, safe='')}?alt=media"
        ),
    }
    call.state.objects[bucket][name] = made
    return _shown(made)


def get_object(call: Call) -> Reply:
    found = _object(call)
    if call.request.query.get("alt") == "media":
        return Reply(200, found["_content"], "application/octet-stream")
    return json_reply(_shown(found))


def delete_object(call: Call) -> Reply:
    del call.state.objects[call.at["name"]][_object(call)["name"]]
    return Reply(204, b"")


def _bucket(call: Call) -> dict[str, Any]:
    found = call.state.buckets.get(call.at["name"])
    if found is None:
        raise missing("The specified bucket does not exist")
    return found


def _object(call: Call) -> dict[str, Any]:
    found = call.state.objects[_bucket(call)["name"]].get(unquote(call.at["object"]))
    if found is None:
        raise missing(f"No such object: {call.at['name']}/{unquote(call.at['object'])}")
    return found


def _merge(there: dict[str, Any], body: dict[str, Any]) -> None:
    for name, value in body.items():
        if value is None:
            there.pop(name, None)
        elif isinstance(value, dict) and isinstance(there.get(name), dict):
            _merge(there[name], value)
        else:
            there[name] = value


def _shown(thing: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in thing.items() if not name.startswith("_")}
