"""Watches: what happened since a version, and then what happens, one JSON line each."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.problems import Refusal
from playrunner.sandbox.kube.store import events
from playrunner.sandbox.kube.store.cluster import Cluster
from playrunner.sandbox.kube.store.store import Event, Object
from playrunner.sandbox.kube.wire.messages import Request
from playrunner.sandbox.kube.wire.selectors import Matches

_BOOKMARK_SECONDS = 30.0
_LOOK_SECONDS = 1.0  # how soon a client that left is noticed
_DEFAULT_SECONDS = 1800


def watch(
    cluster: Cluster,
    kind: Kind,
    namespace: str,
    matches: Matches,
    request: Request,
    shown: Callable[[list[Object]], Any],
) -> Iterator[bytes]:
    """The lines of one watch; `shown` makes of an object what the client asked to see."""
    wanted = request.option("resourceVersion")
    try:
        if wanted not in ("", "0"):
            version = int(wanted) if wanted.isdigit() else -1
            happened = cluster.store.since(version)
            return _lines(cluster, kind, namespace, matches, request, shown, version, happened)
    except Refusal as refusal:
        return iter([_line("ERROR", refusal.status())])
    return _lines(cluster, kind, namespace, matches, request, shown, None, [])


def _lines(
    cluster: Cluster,
    kind: Kind,
    namespace: str,
    matches: Matches,
    request: Request,
    shown: Callable[[list[Object]], Any],
    version: int | None,
    happened: Sequence[Event],
) -> Iterator[bytes]:
    bookmarks = request.flag("allowWatchBookmarks")
    if version is None:
        there, version = cluster.store.list(kind.stored_as, namespace)
        for one in filter(matches, there):
            yield _line("ADDED", shown([events.served(kind, one)]))
        if request.flag("sendInitialEvents") and bookmarks:
            yield _line("BOOKMARK", _bookmark(kind, version, {"k8s.io/initial-events-end": "true"}))
    seconds = request.number("timeoutSeconds") or _DEFAULT_SECONDS
    deadline, bookmark_due = time.monotonic() + seconds, time.monotonic() + _BOOKMARK_SECONDS
    while True:
        for event in happened:
            version = event.version
            told = _told(event, kind, namespace, matches)
            if told is not None:
                yield _line(told[0], shown([events.served(kind, told[1])]))
        left = deadline - time.monotonic()
        if left <= 0:
            if bookmarks:
                yield _line("BOOKMARK", _bookmark(kind, version))
            return
        if not cluster.store.wait_past(version, min(left, _LOOK_SECONDS)):
            yield b""
        if bookmarks and time.monotonic() > bookmark_due:
            bookmark_due += _BOOKMARK_SECONDS
            yield _line("BOOKMARK", _bookmark(kind, version))
        try:
            happened = cluster.store.since(version)
        except Refusal as refusal:
            yield _line("ERROR", refusal.status())
            return


def _told(event: Event, kind: Kind, namespace: str, matches: Matches) -> tuple[str, Object] | None:
    """What this watch says about an event; an object that no longer matches is as good as gone."""
    if event.of != kind.stored_as or (
        namespace and event.last["metadata"].get("namespace") != namespace
    ):
        return None
    before = event.before is not None and matches(event.before)
    after = event.after is not None and matches(event.after)
    if after:
        return ("MODIFIED" if before else "ADDED"), event.last
    if not before:
        return None
    last = event.last if event.after is None else {**event.last}
    return "DELETED", last


def _bookmark(kind: Kind, version: int, annotations: dict[str, str] | None = None) -> Object:
    metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = annotations
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}


def _line(kind: str, one: Any) -> bytes:
    return json.dumps({"type": kind, "object": one}, separators=(",", ":")).encode() + b"\n"
