"""Which objects a list request selects, and its pages."""

from __future__ import annotations

import base64
import json
from typing import Any

from playrunner.sandbox.kube.http.routes import Route
from playrunner.sandbox.kube.schema.problems import (
    bad_request,
    expired,
)
from playrunner.sandbox.kube.store.store import Object
from playrunner.sandbox.kube.wire.messages import Request
from playrunner.sandbox.kube.wire.selectors import Matches, by_fields, by_labels


def selected(at: Route, request: Request) -> Matches:
    labels = by_labels(request.option("labelSelector"))
    fields = by_fields(request.option("fieldSelector"), at.kind.plural, at.kind.custom)
    return lambda one: (
        (not at.name or one["metadata"]["name"] == at.name) and labels(one) and fields(one)
    )


def page(
    there: list[Object], version: int, request: Request
) -> tuple[list[Object], dict[str, Any]]:
    """One page of a list; the continue token holds the version of the
    first page."""
    limit, token = request.number("limit"), request.option("continue")
    start: list[str] = []
    if token:
        try:
            held = json.loads(base64.urlsafe_b64decode(token))
            version, start = held["rv"], held["start"]
        except (ValueError, KeyError, TypeError) as error:
            raise bad_request("continue key is not valid") from error
        if version < 0:
            raise expired(version, 0)
        there = [
            one
            for one in there
            if [one["metadata"].get("namespace", ""), one["metadata"]["name"]] > start
        ]
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if limit and len(there) > limit:
        last = there[limit - 1]["metadata"]
        held = {"rv": version, "start": [last.get("namespace", ""), last["name"]]}
        metadata["continue"] = base64.urlsafe_b64encode(json.dumps(held).encode()).decode()
        if not request.option("labelSelector") and not request.option("fieldSelector"):
            metadata["remainingItemCount"] = len(there) - limit
        there = there[:limit]
    return there, metadata
