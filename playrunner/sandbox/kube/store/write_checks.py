"""What a write must fulfil: the right kind, the object that was read, and all rules of its kind."""

from __future__ import annotations

import json
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.names import metadata_problems
from playrunner.sandbox.kube.schema.problems import (
    Refusal,
    Undecodable,
    bad_request,
    conflict,
    invalid,
    invalid_value,
)
from playrunner.sandbox.kube.store import definitions, events
from playrunner.sandbox.kube.store.rules.immutable import change_problems
from playrunner.sandbox.kube.store.rules.rules import rule_problems
from playrunner.sandbox.kube.store.rules.validation import problems_of
from playrunner.sandbox.kube.store.store import Object
from playrunner.sandbox.kube.store.write_options import WriteOptions


def require_kind(kind: Kind, body: Any) -> None:
    if not isinstance(body, dict):
        raise bad_request("the object provided is unrecognized (must be of type " + kind.kind + ")")
    given = body.get("apiVersion", kind.api_version), body.get("kind", kind.kind)
    if given[1] != kind.kind:
        raise bad_request(
            f'{given[1]} in version "{given[0].rpartition("/")[2]}" cannot be handled as a'
            f" {kind.kind}: converting"
        )
    if given[0] != kind.api_version and events.other_version(kind) != given[0]:
        why = (
            f"the API version in the data ({given[0]}) does not match the expected API version"
            f" ({kind.api_version})"
        )
        raise bad_request(why)
    body.setdefault("apiVersion", kind.api_version)
    body.setdefault("kind", kind.kind)


def undecodable(kind: Kind, body: Any, options: WriteOptions, error: Undecodable) -> Refusal:
    """A server answers by where it reads the value: a body before anything else, a patched object
    as the result of the patch, an applied one while it is merged, which it takes for its own
    error."""
    if options.operation == "Apply":
        return not_applicable(kind, body, error)
    if options.patch:
        text = json.dumps(body, separators=(",", ":"))
        problem = invalid_value("patch", text, str(error))
        causes = [{"reason": problem.reason, "message": problem.message, "field": problem.field}]
        return Refusal(422, "Invalid", f' "" is invalid: {problem}', {"causes": causes})
    return bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {error}'
    )


def not_applicable(kind: Kind, body: Any, error: Undecodable) -> Refusal:
    """What cannot be applied, since its schema does not allow it or a value cannot be read."""
    metadata = body.get("metadata") or {}
    group = f"{kind.api_version}, Kind={kind.kind}"
    what = f"({metadata.get('namespace', '')}/{metadata.get('name', '')}; {group})"
    if error.wrong_type:
        return Refusal(500, "", f"failed to create typed patch object {what}: {error}")
    why = f"unable to convert unstructured object to {group}: {error}"
    return Refusal(500, "", f"failed to convert new object {what} to proper version: {why}")


def require_same(kind: Kind, live: Object, metadata: Object, *, replaces: bool) -> None:
    name = live["metadata"]["name"]
    if metadata.get("name", name) != name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL"
            f" ({name})"
        )
    if metadata.get("namespace", live["metadata"].get("namespace")) != live["metadata"].get(
        "namespace"
    ):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if metadata.get("uid", live["metadata"]["uid"]) != live["metadata"]["uid"]:
        why = (
            f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta:"
            f" {live['metadata']['uid']}"
        )
        raise conflict(kind, name, why)
    version = metadata.get("resourceVersion")
    if version and version != live["metadata"]["resourceVersion"]:
        raise conflict(kind, name)
    if replaces and not version and kind.custom:
        raise invalid(
            kind,
            name,
            [invalid_value("metadata.resourceVersion", "0x0", "must be specified for an update")],
        )


def require_sound(kind: Kind, obj: Object, before: Object | None) -> None:
    name = obj["metadata"].get("name") or obj["metadata"].get("generateName", "")
    problems = metadata_problems(kind, obj["metadata"])
    if kind.custom:
        problems += problems_of(obj, kind.schema)
    elif kind.type_name == "apiextensions.v1.CustomResourceDefinition":
        problems += definitions.definition_problems(obj)
    elif kind.stored_as != ("", "events"):
        problems += rule_problems(kind.type_name, obj, kind.schema)
    if before is not None and not kind.custom:
        problems += change_problems(kind.type_name, before, obj)
    if problems:
        raise invalid(kind, name, problems)
