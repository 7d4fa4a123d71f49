"""Strategic merge patch: a merge patch that knows which lists hold things with names."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.schema import schema as schemas
from playrunner.sandbox.kube.schema.problems import bad_request
from playrunner.sandbox.kube.schema.schema import Schema

_PREFIXES = ("$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys", "$patch")


def strategic_patch(target: Any, patch: Any, schema: Schema) -> Any:
    """Members given replace or merge, null removes; lists with a merge key are merged by it."""
    if not isinstance(patch, dict):
        return patch
    directive = patch.get("$patch")
    if directive == "replace":
        return _plain({name: value for name, value in patch.items() if name != "$patch"})
    if directive == "delete":
        return {}
    merged = dict(target) if isinstance(target, dict) else {}
    retained = patch.get("$retainKeys")
    if retained is not None:
        merged = {name: value for name, value in merged.items() if name in retained}
    for name, value in patch.items():
        if name.startswith("$deleteFromPrimitiveList/"):
            plain = name.partition("/")[2]
            merged[plain] = [one for one in merged.get(plain) or [] if one not in value]
    for name, value in patch.items():
        if name.startswith(_PREFIXES):
            continue
        if value is None:
            merged.pop(name, None)
            continue
        merged[name] = _merged_member(merged, name, value, schemas.field(schema, name) or {}, patch)
    return merged


def _merged_member(
    merged: dict[str, Any], name: str, value: Any, schema: Schema, patch: dict[str, Any]
) -> Any:
    there = merged.get(name)
    if isinstance(value, dict):
        return strategic_patch(there, value, schema)
    if isinstance(value, list) and "merge" in schema.get("x-kubernetes-patch-strategy", ""):
        order = patch.get(f"$setElementOrder/{name}")
        key = schema.get("x-kubernetes-patch-merge-key")
        if key is None:
            return _in_order(list(dict.fromkeys([*(there or []), *value])), order, None)
        return _in_order(_merged_list(there or [], value, key, schemas.items(schema)), order, key)
    return _plain(value)


def _merged_list(there: list[Any], patch: list[Any], key: str, schema: Schema) -> list[Any]:
    if any(item.get("$patch") == "replace" for item in patch):
        return [_plain(item) for item in patch if "$patch" not in item]
    merged = list(there)
    for item in patch:
        if key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        at = next(
            (index for index, other in enumerate(merged) if other.get(key) == item[key]), None
        )
        if item.get("$patch") == "delete":
            merged = [other for other in merged if other.get(key) != item[key]]
        elif at is None:
            merged.append(strategic_patch({}, item, schema))
        else:
            merged[at] = strategic_patch(merged[at], item, schema)
    return merged


def _in_order(merged: list[Any], order: list[Any] | None, key: str | None) -> list[Any]:
    if not order:
        return merged
    wanted = [one[key] if key else one for one in order]
    rank = {value: index for index, value in enumerate(wanted)}
    return sorted(merged, key=lambda one: rank.get(one[key] if key else one, -1))


def _plain(value: Any) -> Any:
    """Without directives, at any depth."""
    if isinstance(value, dict):
        return {
            name: _plain(field)
            for name, field in value.items()
            if not name.startswith(_PREFIXES) and field is not None
        }
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
