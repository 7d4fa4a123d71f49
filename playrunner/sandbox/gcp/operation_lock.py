"""One operation on a cluster at a time: finding the cluster, refusing while it is busy, and
beginning the next."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.gcp import operations
from playrunner.sandbox.gcp.gcp_state import Key
from playrunner.sandbox.gcp.messages import Call, missing, precondition


def found(call: Call) -> dict[str, Any]:
    cluster = call.state.clusters.get(key_of(call))
    if cluster is None:
        raise missing(
            f"projects/{call.project}/locations/{call.location}/clusters/{call.at['cluster']}"
        )
    return cluster


def key_of(call: Call) -> Key:
    return call.project, call.location, call.at["cluster"]


def refuse_busy(cluster: dict[str, Any]) -> None:
    running = cluster.get("_operation")
    if running and running["status"] != "DONE":
        raise precondition(f"Cluster is running incompatible operation {running['name']}.")


def change(
    call: Call,
    cluster: dict[str, Any],
    kind: str,
    put: Any,
    delay: str = "container.cluster.update",
    pool: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Something of a running cluster, or of one of its pools, is made different in a while."""
    moving = pool if pool is not None else cluster
    moving["status"] = "RECONCILING"

    def finish() -> str | None:
        reason = put()
        moving["status"] = "RUNNING_WITH_ERROR" if reason and pool is not None else "RUNNING"
        moving["statusMessage"] = reason or ""
        return str(reason) if reason else None

    return begin(call, cluster, kind, delay, finish)


def begin(
    call: Call, cluster: dict[str, Any], kind: str, delay: str, finish: Any
) -> dict[str, Any]:
    holder: dict[str, Any] = {"name": "", "operationType": kind, "status": "RUNNING"}
    cluster["_operation"] = holder

    def end() -> str | None:
        if cluster.get("_operation") is holder:
            cluster["_operation"] = None
        holder["status"] = "DONE"
        return finish()  # type: ignore[no-any-return]

    made = operations.container(call, kind, f"clusters/{cluster['name']}", delay, end)
    holder["name"] = made["name"]
    return made
