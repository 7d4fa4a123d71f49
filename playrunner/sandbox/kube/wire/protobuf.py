"""Bodies in protobuf, as newer releases of kubectl send them (`create KIND NAME`, `auth can-i`,
`drain`); read as far as they go.

The wire is Kubernetes' own: four bytes, then an envelope that names the kind and holds the object.
Everything else that kubectl sends is JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from playrunner.sandbox.kube.schema.problems import Refusal, bad_request, unsupported_media_type

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"

# What each field is called and holds, by its number. A mapping is a message; a list of one a
# repeated message.
_META = {
    1: ("name", "text"),
    2: ("generateName", "text"),
    3: ("namespace", "text"),
    11: ("labels", "texts"),
    12: ("annotations", "texts"),
    14: ("finalizers", "list"),
}
_REFERENCE = {3: ("name", "text")}
_CONTAINER = {
    1: ("name", "text"),
    2: ("image", "text"),
    3: ("command", "list"),
    4: ("args", "list"),
    6: ("ports", [{3: ("containerPort", "number")}]),
}
_POD = {
    1: ("metadata", _META),
    2: ("spec", {2: ("containers", [_CONTAINER]), 3: ("restartPolicy", "text")}),
}
_DEPLOYMENT = {
    1: ("replicas", "number"),
    2: ("selector", {1: ("matchLabels", "texts")}),
    3: ("template", _POD),
}
_ATTRIBUTES = {
    1: ("namespace", "text"),
    2: ("verb", "text"),
    3: ("group", "text"),
    4: ("version", "text"),
    5: ("resource", "text"),
    6: ("subresource", "text"),
    7: ("name", "text"),
}
_DELETION = {
    1: ("gracePeriodSeconds", "number"),
    2: ("preconditions", {1: ("uid", "text")}),
    4: ("propagationPolicy", "text"),
    5: ("dryRun", "list"),
}
_KINDS: dict[tuple[str, str], dict[int, tuple[str, Any]]] = {
    ("v1", "Namespace"): {1: ("metadata", _META)},
    ("v1", "ConfigMap"): {
        1: ("metadata", _META),
        2: ("data", "texts"),
        3: ("binaryData", "blobs"),
        4: ("immutable", "flag"),
    },
    ("v1", "Secret"): {
        1: ("metadata", _META),
        2: ("data", "blobs"),
        3: ("type", "text"),
        4: ("stringData", "texts"),
        5: ("immutable", "flag"),
    },
    ("apps/v1", "Deployment"): {1: ("metadata", _META), 2: ("spec", _DEPLOYMENT)},
    ("batch/v1", "Job"): {
        1: ("metadata", _META),
        2: ("spec", {6: ("template", _POD), 7: ("backoffLimit", "number")}),
    },
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): {
        2: ("spec", {1: ("resourceAttributes", _ATTRIBUTES)})
    },
    ("authentication.k8s.io/v1", "SelfSubjectReview"): {1: ("metadata", _META)},
    ("policy/v1", "Eviction"): {1: ("metadata", _META), 2: ("deleteOptions", _DELETION)},
    ("v1", "DeleteOptions"): _DELETION,
    ("v1", "ServiceAccount"): {
        1: ("metadata", _META),
        2: ("secrets", [_REFERENCE]),
        4: ("automountServiceAccountToken", "flag"),
    },
}


def decoded(body: bytes) -> dict[str, Any]:
    """The object in a body, as JSON has it."""
    if not body.startswith(_MAGIC):
        raise bad_request(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    envelope = dict(_members(body[len(_MAGIC) :]))
    named = dict(_members(envelope.get(1, b"")))
    version, kind = named.get(1, b"").decode(), named.get(2, b"").decode()
    fields = _KINDS.get((version, kind))
    if fields is None:
        raise unsupported_media_type(
            f"the sandbox reads {version} {kind} as JSON or YAML only: use kubectl apply -f"
        )
    return {"apiVersion": version, "kind": kind, **_message(envelope.get(2, b""), fields)}


def _message(data: bytes, fields: dict[int, tuple[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {}
    for number, value in _members(data):
        name, sort = fields.get(number, (None, None))
        if name is None:
            if _says_something(value):
                raise unsupported_media_type(
                    f"field {number} is not read from protobuf here: use kubectl apply -f"
                )
        elif isinstance(sort, dict):
            message[name] = _message(value, sort)
        elif isinstance(sort, list):
            message.setdefault(name, []).append(_message(value, sort[0]))
        elif sort == "list":
            message.setdefault(name, []).append(value.decode())
        elif sort in ("texts", "blobs"):
            entry = dict(_members(value))
            content = entry.get(2, b"")
            message.setdefault(name, {})[entry.get(1, b"").decode()] = (
                content.decode() if sort == "texts" else base64.b64encode(content).decode()
            )
        else:
            message[name] = (
                value.decode() if sort == "text" else bool(value) if sort == "flag" else value
            )
    return {name: value for name, value in message.items() if value != ""}


def _says_something(value: int | bytes) -> bool:
    """Whether a field that is not read would be missed: this wire also has those that hold nothing,
    and messages of such."""
    if isinstance(value, int):
        return value != 0
    try:
        return any(_says_something(inner) for _, inner in _members(value))
    except Refusal:  # a text
        return True


def _members(data: bytes) -> Iterator[tuple[int, Any]]:
    """Each field's number and value: an int of a varint, bytes of anything with a length."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif wire == 2:
            size, at = _varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size
        else:
            raise bad_request(
                f"a protobuf field of wire type {wire} is in no kind that is read here"
            )


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise bad_request("the protobuf message breaks off")
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
