"""Whether an object is as declared. Looking at the declared fields settles most cases; a dry run by
the server the others."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from typing import Any

from playrunner.text.answers import plain

# Annotations: a fingerprint of the declaration, and the run that applied it
DECLARED, RUN = "playrunner.io/declared", "playrunner.io/run"
CLUSTER, SET = "playrunner.io/cluster", "playrunner.io/set"  # labels: whose it is

# Hashes of secrets are valid in this process only, so that values cannot be guessed from them.
_KEY = os.urandom(16)
_BOOKKEEPING = (
    "managedFields",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "uid",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def marked(
    body: Mapping[str, Any], labels: Mapping[str, str], run: str, namespace: str = ""
) -> dict[str, Any]:
    """A declaration as it is applied: with its namespace, our labels, and a note by which it is
    known again."""
    applied = (
        _plain_secret(body)
        if body.get("kind") == "Secret" and body.get("stringData")
        else dict(body)
    )
    # Generators write `creationTimestamp: null`, which says nothing.
    meta = {key: value for key, value in body["metadata"].items() if value is not None}
    meta |= {"namespace": namespace} if namespace else {}
    applied["metadata"] = {
        **meta,
        "labels": {**(meta.get("labels") or {}), **labels},
        "annotations": {**(meta.get("annotations") or {}), DECLARED: _known_by(applied), RUN: run},
    }
    applied.pop("status", None)  # not ours to declare
    return applied


def fingerprint(body: Mapping[str, Any]) -> str:
    """It changes when a field is added, changed or taken out."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).hexdigest()[:32]


def matches(live: Any, declared: Any) -> bool:
    """Whether every declared field has its value; what the server added is not spoken of."""
    if isinstance(declared, dict):
        return isinstance(live, dict) and all(
            (key in live and matches(live[key], value)) or (value is None and live.get(key) is None)
            for key, value in declared.items()
        )
    if isinstance(declared, list):
        return (
            isinstance(live, list)
            and len(live) == len(declared)
            and all(map(matches, live, declared))
        )
    return type(live) is type(declared) and bool(live == declared)


def as_declared(live: Mapping[str, Any], declared: Mapping[str, Any]) -> bool:
    """True when nothing is to be done; False when only the server can tell (a quantity in other
    words, a field taken out)."""
    marks = (live.get("metadata") or {}).get("annotations") or {}
    wanted = declared["metadata"].get("annotations") or {}
    return marks.get(DECLARED) == wanted.get(DECLARED) and matches(live, _without_run(declared))


def same(live: Mapping[str, Any], foreseen: Mapping[str, Any]) -> bool:
    """Whether what a dry run foresees is what is there."""
    return essence(live) == essence(foreseen)


def essence(thing: Mapping[str, Any]) -> dict[str, Any]:
    """An object without its status and the server's and our bookkeeping; what a secret holds only
    as hashes."""
    meta = {
        key: value
        for key, value in (thing.get("metadata") or {}).items()
        if key not in _BOOKKEEPING
    }
    notes = {
        key: value
        for key, value in (meta.pop("annotations", None) or {}).items()
        if key not in (RUN, DECLARED)
    }
    found = {key: value for key, value in thing.items() if key not in ("status", "metadata")}
    found["metadata"] = {**meta, **({"annotations": notes} if notes else {})}
    return masked(found) if thing.get("kind") == "Secret" else found


def masked(secret: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **secret,
        **{
            part: {key: hidden(value) for key, value in secret[part].items()}
            for part in ("data", "stringData")
            if isinstance(secret.get(part), dict)
        },
    }


def hidden(value: Any) -> str:
    """A secret value's stand-in: it tells whether two are the same, and nothing else."""
    return "hidden:" + hmac.new(_KEY, str(value).encode(), hashlib.sha256).hexdigest()[:16]


def shown(thing: Mapping[str, Any], as_text: bool) -> str:
    """For a state: the whole object when differences are to be shown, otherwise its fingerprint."""
    if not as_text:
        return fingerprint(essence(thing))
    import yaml

    return str(
        yaml.dump(
            plain(_without_bytes(essence(thing))),
            Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
            sort_keys=True,
        )
    )


def _without_bytes(thing: Mapping[str, Any]) -> dict[str, Any]:
    """Bytes say nothing to a reader: their number and hash stand for them."""
    binary = thing.get("binaryData")
    if not isinstance(binary, dict):
        return dict(thing)
    return {**thing, "binaryData": {key: _summary(value) for key, value in binary.items()}}


def _summary(encoded: Any) -> str:
    text = str(encoded)
    size = len(text) * 3 // 4 - text[-2:].count("=")
    return f"{size} bytes, sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _without_run(declared: Mapping[str, Any]) -> dict[str, Any]:
    meta = declared["metadata"]
    notes = {key: value for key, value in (meta.get("annotations") or {}).items() if key != RUN}
    return {**declared, "metadata": {**meta, "annotations": notes}}


def _known_by(body: Mapping[str, Any]) -> str:
    """A declaration's fingerprint; of a secret only the names count, since a hash on display would
    let values be guessed."""
    if body.get("kind") != "Secret":
        return fingerprint(body)
    return fingerprint({**body, "data": sorted(body.get("data") or ()), "stringData": None})


def _plain_secret(body: Mapping[str, Any]) -> dict[str, Any]:
    """stringData as data, since the server never shows the former."""
    texts = {
        key: base64.b64encode(str(value).encode()).decode()
        for key, value in body["stringData"].items()
    }
    return {
        **{key: value for key, value in body.items() if key != "stringData"},
        "data": {**(body.get("data") or {}), **texts},
    }
