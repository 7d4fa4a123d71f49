"""Operations: what an accepted change is followed by. Each API spells them in its own way; all of
them take time and can fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.sandbox.faults import Fault
from playrunner.sandbox.gcp.gcp_state import digest, now
from playrunner.sandbox.gcp.messages import Call, missing


def container(
    call: Call, kind: str, target: str, delay: str, finish: Callable[[], str | None]
) -> dict[str, Any]:
    """An operation on a cluster; `finish` is done at its end and gives the reason when it went
    wrong."""
    location = call.location
    name = f"operation-{call.state.id()}-{digest(target, kind)}"
    link = f"{call.request.base}/v1/projects/{call.project}/locations/{location}/operations/{name}"
    made: dict[str, Any] = {
        "name": name,
        "operationType": kind,
        "status": "RUNNING",
        "startTime": now(),
        "selfLink": link,
        "targetLink": (
            f"{call.request.base}/v1/projects/{call.project}/locations/{location}/{target}"
        ),
        "zone": location,
        "location": location,
        "progress": {"status": "RUNNING"},
    }

    def end() -> None:
        reason = finish()
        made.update(status="DONE", endTime=now(), progress={"status": "DONE"})
        if reason:
            made.update(statusMessage=reason, error={"code": 9, "message": reason})

    call.state.operations[name] = made
    call.state.later(delay, end)
    return made


def compute(
    call: Call,
    kind: str,
    target: dict[str, Any],
    delay: str,
    finish: Callable[[], object],
    undo: Callable[[], object] | None = None,
) -> dict[str, Any]:
    """An operation of Compute Engine; with a fault that strikes later, `undo` is done instead of
    `finish`."""
    scope = "zones" if "zone" in call.at else "regions" if "region" in call.at else "global"
    where = "" if scope == "global" else f"/{call.location}"
    base = f"{call.request.base}/compute/v1/projects/{call.project}"
    name = f"operation-{call.state.id()}-{digest(target['selfLink'], kind)}"
    link = f"{base}/{scope}{where}/operations/{name}"
    made: dict[str, Any] = {
        "kind": "compute#operation",
        "id": call.state.id(),
        "name": name,
        "operationType": kind,
        "status": "RUNNING",
        "progress": 0,
        "targetLink": target["selfLink"],
        "targetId": target["id"],
        "selfLink": link,
        "insertTime": now(),
        "startTime": now(),
        "user": "sandbox",
    }
    if scope != "global":
        made["zone" if scope == "zones" else "region"] = f"{base}/{scope}{where}"
    fault = call.state.faults.fails_later("compute", call.action, target["name"])

    def end() -> None:
        made.update(status="DONE", progress=100, endTime=now())
        if fault is None:
            finish()
            return
        if undo:
            undo()
        failed = {
            "code": fault.code or "INTERNAL_ERROR",
            "message": reason_of(fault, "Internal error."),
        }
        made.update(
            error={"errors": [failed]}, httpErrorStatusCode=400, httpErrorMessage="BAD REQUEST"
        )

    call.state.operations[name] = made
    call.state.later(delay, end)
    return made


def long_running(call: Call, delay: str, finish: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """An operation as Artifact Registry and Service Usage have them."""
    location = call.at.get("location", "global")
    number = digest(call.state.id(), length=32)
    name = f"projects/{call.project}/locations/{location}/operations/{number}"
    made: dict[str, Any] = {"name": name, "metadata": {}}

    def end() -> None:
        made.update(done=True, response=finish())

    call.state.operations[name.rpartition("/")[2]] = made
    call.state.later(delay, end)
    return made


def get(call: Call) -> dict[str, Any]:
    """One operation, as the API that made it has it."""
    found = call.state.operations.get(call.at["name"])
    if found is None:
        raise missing(call.request.path.lstrip("/"))
    return found


def listing(call: Call) -> dict[str, Any]:
    """The operations on clusters of a location."""
    wanted = call.location
    return {
        "operations": [
            one
            for one in call.state.operations.values()
            if "operationType" in one and "location" in one and wanted in ("-", one["location"])
        ]
    }


def listing_compute(call: Call) -> dict[str, Any]:
    return {
        "kind": "compute#operationList",
        "items": [
            one for one in call.state.operations.values() if one.get("kind") == "compute#operation"
        ],
    }


def reason_of(fault: Fault, otherwise: str) -> str:
    return fault.message or otherwise
