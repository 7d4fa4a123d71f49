"""EKS updates: a change to a cluster, nodegroup or add-on is in progress for a while, and shows
when it is over."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.aws.api.wire import AwsError, Call, page


def begin_update(
    call: Call,
    thing: dict[str, Any],
    kind: str,
    changes: dict[str, Any],
    delay: str,
    then: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Start an update of a cluster, nodegroup or add-on; it shows when it is over."""
    update = {
        "id": str(uuid.uuid4()),
        "status": "InProgress",
        "type": kind,
        "params": [],
        "createdAt": datetime.now(UTC),
        "errors": [],
    }
    call.region.updates[str(update["id"])] = {**update, "of": thing["arn"]}
    thing["status"] = "UPDATING"

    def finish() -> None:
        thing.update(changes, status="ACTIVE")
        call.region.updates[str(update["id"])]["status"] = "Successful"
        if then is not None:
            then()

    call.state.later(delay, finish)
    return update


def describe_update(call: Call) -> dict[str, Any]:
    update = call.region.updates.get(call.params["updateId"])
    if update is None:
        raise AwsError(
            "ResourceNotFoundException", f"No update found for ID: {call.params['updateId']}", 404
        )
    return {"update": {key: value for key, value in update.items() if key != "of"}}


def list_updates(call: Call) -> dict[str, Any]:
    cluster, name = call.params["name"], call.params.get("nodegroupName")
    thing = (
        call.region.nodegroups.get((cluster, name)) if name else call.region.clusters.get(cluster)
    )
    owner = thing["arn"] if thing else None
    return page(
        [key for key, one in call.region.updates.items() if one["of"] == owner],
        call.params,
        "updateIds",
    )


ANSWERS = {"DescribeUpdate": describe_update, "ListUpdates": list_updates}
