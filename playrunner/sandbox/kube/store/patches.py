"""JSON patch (RFC 6902) and merge patch (RFC 7386)."""

from __future__ import annotations

import copy
from typing import Any

from playrunner.sandbox.kube.schema.problems import Refusal, bad_request


def merge_patch(target: Any, patch: Any) -> Any:
    """Members given replace, null removes, the rest stays."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def json_patch(target: Any, operations: Any) -> Any:
    """The operations, one after the other, all or none."""
    if not isinstance(operations, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    document = copy.deepcopy(target)
    for operation in operations:
        try:
            document = _step(document, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise Refusal(
                422,
                "Invalid",
                "the server rejected our request due to an error in our request:"
                f" {operation.get('op')} {operation.get('path')}: {error}",
            ) from error
    return document


def _step(document: Any, operation: dict[str, Any]) -> Any:
    name, path = operation["op"], operation["path"]
    if name == "test":
        if _at(document, path) != operation.get("value"):
            raise ValueError("testing value failed: test failed")
        return document
    if name == "add":
        return _put(document, path, copy.deepcopy(operation["value"]), insert=True)
    if name == "replace":
        _at(document, path)
        return _put(document, path, copy.deepcopy(operation["value"]), insert=False)
    if name == "remove":
        return _removed(document, path)
    value = copy.deepcopy(_at(document, operation["from"]))
    if name == "move":
        document = _removed(document, operation["from"])
    elif name != "copy":
        raise ValueError(f"unexpected kind: {name}")
    return _put(document, path, value, insert=True)


def _parts(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise ValueError("a path starts with /")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _at(document: Any, path: str) -> Any:
    for part in _parts(path):
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


def _put(document: Any, path: str, value: Any, *, insert: bool) -> Any:
    *parents, last = _parts(path) or [""]
    if not path:
        return value
    holder = document
    for part in parents:
        holder = holder[int(part)] if isinstance(holder, list) else holder[part]
    if isinstance(holder, list):
        at = len(holder) if last == "-" else int(last)
        if at > len(holder):
            raise IndexError("out of bounds")
        holder[at : at if insert else at + 1] = [value]
    else:
        holder[last] = value
    return document


def _removed(document: Any, path: str) -> Any:
    *parents, last = _parts(path)
    holder = document
    for part in parents:
        holder = holder[int(part)] if isinstance(holder, list) else holder[part]
    if isinstance(holder, list):
        del holder[int(last)]
    else:
        del holder[last]
    return document
