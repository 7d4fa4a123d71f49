"""What a server refuses about the status of a Job: since 1.32 any controller may manage Jobs, so
the server itself sees to it that a Job ends once and in order.

A rule speaks only where this write changes what it is about: a Job that was wrong before is not
kept from being updated otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from playrunner.sandbox.kube.schema.problems import Problem, invalid_value, required

Object = dict[str, Any]
_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_LASTING = {
    "Failed": "terminal Failed",
    "Complete": "terminal Complete",
    "FailureTarget": "terminal FailureTarget",
    "SuccessCriteriaMet": "SuccessCriteriaMet",
}
_EXCLUSIVE = (
    ("Complete", "Failed"),
    ("Complete", "FailureTarget"),
    ("Failed", "SuccessCriteriaMet"),
    ("FailureTarget", "SuccessCriteriaMet"),
)
_ANNOUNCED_BY = {"Failed": "FailureTarget", "Complete": "SuccessCriteriaMet"}


def job_status_problems(before: Object, after: Object) -> Iterator[Problem]:
    was, now = before.get("status") or {}, after.get("status") or {}
    if was == now:
        return
    yield from _count_problems(was, now, after["spec"])
    yield from _condition_problems(_true_conditions(was), _true_conditions(now))
    yield from _finished_problems(was, now)
    yield from _time_problems(was, now, suspended=bool(after["spec"].get("suspend")))
    yield from _index_problems(was, now, after["spec"])


def _true_conditions(status: Object) -> set[str]:
    conditions = status.get("conditions") or ()
    return {one["type"] for one in conditions if one.get("status") == "True"}


def _is_finished(conditions: set[str]) -> bool:
    return bool(conditions & {"Complete", "Failed"})


def _count_problems(was: Object, now: Object, spec: Object) -> Iterator[Problem]:
    for name in _COUNTS:
        if (now.get(name) or 0) < 0:
            yield invalid_value(f"status.{name}", now[name], "must be greater than or equal to 0")
    active, ready = now.get("active") or 0, now.get("ready") or 0
    if ready > active and _changed(was, now, "active", "ready"):
        yield invalid_value("status.ready", ready, "cannot set more ready pods than active")
    # An indexed Job of as many completions as pods can be made smaller, and its count with it.
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get(
        "parallelism"
    )
    for name in ("failed",) if elastic else ("failed", "succeeded"):
        if (now.get(name) or 0) < (was.get(name) or 0):
            yield invalid_value(
                f"status.{name}", now.get(name) or 0, f"cannot decrease the {name} counter"
            )


def _condition_problems(was: set[str], now: set[str]) -> Iterator[Problem]:
    for kind, name in _LASTING.items():
        if kind in was - now:
            yield _conditions(f"cannot disable the {name}=True condition")
    for first, second in _EXCLUSIVE:
        if {first, second} <= now and not {first, second} <= was:
            yield _conditions(f"cannot set {first}=True and {second}=true conditions")
    for end, announcement in _ANNOUNCED_BY.items():
        moved = {end, announcement} & (was ^ now)
        if end in now and announcement not in now and moved:
            yield _conditions(
                f"cannot set {end}=True condition without the {announcement}=true condition"
            )


def _conditions(message: str) -> Problem:
    """About the conditions as a whole, which the server's words do not repeat."""
    return Problem("status.conditions", "FieldValueInvalid", f"Invalid value: {message}")


def _finished_problems(was: Object, now: Object) -> Iterator[Problem]:
    if not _is_finished(_true_conditions(now)):
        return
    newly = not _is_finished(_true_conditions(was))
    for name in ("active", "terminating"):
        if (now.get(name) or 0) > 0 and (newly or _changed(was, now, name)):
            yield invalid_value(
                f"status.{name}", now[name], f"{name}>0 is invalid for finished job"
            )
    if not now.get("startTime") and (newly or _changed(was, now, "startTime")):
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = now.get("uncountedTerminatedPods") or {}
    if any(uncounted.values()) and (newly or _changed(was, now, "uncountedTerminatedPods")):
        yield invalid_value(
            "status.uncountedTerminatedPods",
            uncounted,
            "uncountedTerminatedPods needs to be empty for finished job",
        )


def _time_problems(was: Object, now: Object, *, suspended: bool) -> Iterator[Problem]:
    started, ended = now.get("startTime"), now.get("completionTime")
    complete = "Complete" in _true_conditions(now)
    became = complete != ("Complete" in _true_conditions(was))
    if became or _changed(was, now, "completionTime"):
        if ended and not complete:
            yield invalid_value(
                "status.completionTime",
                ended,
                "cannot set completionTime when there is no Complete=True condition",
            )
        if complete and not ended:
            yield required("status.completionTime", "completionTime is required for Complete jobs")
    moved = _changed(was, now, "startTime", "completionTime")
    if moved and started and ended and _moment(ended) < _moment(started):
        yield invalid_value(
            "status.completionTime", ended, "completionTime cannot be set before startTime"
        )
    if was.get("completionTime") and ended and was["completionTime"] != ended:
        yield invalid_value("status.completionTime", ended, "completionTime cannot be mutated")
    if was.get("startTime") and not started and not suspended:
        yield required("status.startTime", "startTime cannot be removed for unsuspended job")


def _index_problems(was: Object, now: Object, spec: Object) -> Iterator[Problem]:
    done, failed = now.get("completedIndexes") or "", now.get("failedIndexes")
    if done and spec.get("completionMode") != "Indexed" and _changed(was, now, "completedIndexes"):
        yield invalid_value(
            "status.completedIndexes",
            done,
            "cannot set non-empty completedIndexes when non-indexed completion mode",
        )
    if (
        failed is not None
        and spec.get("backoffLimitPerIndex") is None
        and _changed(was, now, "failedIndexes")
    ):
        yield invalid_value(
            "status.failedIndexes",
            failed,
            "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
        )


def _changed(was: Object, now: Object, *names: str) -> bool:
    return any(was.get(name) != now.get(name) for name in names)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
