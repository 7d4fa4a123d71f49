"""What the status of a Job may become: since 1.32 the server itself holds its controllers to the
order in which a Job ends."""

from __future__ import annotations

from typing import Any

from tests.sandbox.kube.conformance import ApiStage, behaviour, job, refused
from tests.support.kube.client import MERGE_PATCH, Answer

# The rules came with the feature JobManagedBy, which is on by default since 1.32. In 1.31 the
# controller sets both conditions already, but the server does not ask for them.
SINCE = 32
STARTED, ENDED = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"


def _update(stage: ApiStage, *conditions: str, **status: Any) -> Answer:
    """Merge this into the status; the conditions are those that are true."""
    body = {"status": dict(status)}
    if conditions:
        body["status"]["conditions"] = [
            {"type": kind, "status": "True", "lastTransitionTime": ENDED} for kind in conditions
        ]
    path = stage.group("batch/v1", "jobs", "work", "status")
    return stage.api.call("PATCH", path, body, form=MERGE_PATCH)


def _created(stage: ApiStage, **spec: Any) -> None:
    """A Job that no controller acts on, in whichever control plane this is: it is suspended."""
    stage.api.ok("POST", stage.group("batch/v1", "jobs"), job(suspend=True, **spec))


def _accepted(answer: Answer) -> None:
    assert answer.code == 200, answer.message


@behaviour("a job fails only after its FailureTarget, and with a start time", since=SINCE)
def _(stage: ApiStage) -> None:
    _created(stage)
    refused(
        _update(stage, "Failed", startTime=STARTED),
        422,
        "Invalid",
        "status.conditions",
        "FailureTarget=true",
    )
    refused(
        _update(stage, "FailureTarget", "Failed"),
        422,
        "Invalid",
        "status.startTime: Required value",
    )
    _accepted(_update(stage, "FailureTarget", startTime=STARTED, active=1))
    _accepted(_update(stage, "FailureTarget", "Failed", active=0))


@behaviour("a job is complete only after its SuccessCriteriaMet, and with its times", since=SINCE)
def _(stage: ApiStage) -> None:
    _created(stage)
    times = {"startTime": STARTED, "completionTime": ENDED}
    refused(
        _update(stage, "Complete", **times),
        422,
        "Invalid",
        "status.conditions",
        "SuccessCriteriaMet=true",
    )
    refused(
        _update(stage, "SuccessCriteriaMet", "Complete", startTime=STARTED),
        422,
        "Invalid",
        "status.completionTime: Required value",
    )
    _accepted(_update(stage, "SuccessCriteriaMet", startTime=STARTED))
    _accepted(_update(stage, "SuccessCriteriaMet", "Complete", completionTime=ENDED))


@behaviour("only a complete job has a completion time, and keeps it", since=SINCE)
def _(stage: ApiStage) -> None:
    _created(stage)
    answer = _update(stage, startTime=STARTED, completionTime=ENDED)
    refused(answer, 422, "Invalid", "status.completionTime", "Complete=True")
    both = ("SuccessCriteriaMet", "Complete")
    answer = _update(stage, *both, startTime=ENDED, completionTime=STARTED)
    refused(answer, 422, "Invalid", "status.completionTime", "before startTime")
    _accepted(_update(stage, *both, startTime=STARTED, completionTime=ENDED))
    answer = _update(stage, completionTime="2026-01-01T00:06:00Z")
    refused(answer, 422, "Invalid", "status.completionTime", "mutated")
    refused(_update(stage, completionTime=None), 422, "Invalid", "status.completionTime")


@behaviour("a finished job has no pods that run or are being ended", since=SINCE)
def _(stage: ApiStage) -> None:
    _created(stage)
    failed = ("FailureTarget", "Failed")
    answer = _update(stage, *failed, startTime=STARTED, active=1)
    refused(answer, 422, "Invalid", "status.active: Invalid value: 1", "finished job")
    answer = _update(stage, *failed, startTime=STARTED, terminating=1)
    refused(answer, 422, "Invalid", "status.terminating", "finished job")
    _accepted(_update(stage, *failed, startTime=STARTED))
    refused(_update(stage, active=1), 422, "Invalid", "status.active", "finished job")


@behaviour("a job ends in one way, and for good", since=SINCE)
def _(stage: ApiStage) -> None:
    _created(stage)
    times = {"startTime": STARTED, "completionTime": ENDED}
    answer = _update(stage, "SuccessCriteriaMet", "Complete", "FailureTarget", "Failed", **times)
    refused(answer, 422, "Invalid", "status.conditions", "Complete=True and Failed=true")
    _accepted(_update(stage, "FailureTarget", startTime=STARTED))
    answer = _update(stage, "Suspended")
    refused(answer, 422, "Invalid", "cannot disable", "FailureTarget=True")
    _accepted(_update(stage, "FailureTarget", "Failed"))
    answer = _update(stage, "FailureTarget")
    refused(answer, 422, "Invalid", "cannot disable", "Failed=True")


@behaviour("a job's counts of ended pods do not fall, and ready pods are active", since=SINCE)
def _(stage: ApiStage) -> None:
    _created(stage)
    _accepted(_update(stage, startTime=STARTED, failed=2, succeeded=1, active=1, ready=1))
    refused(_update(stage, failed=1), 422, "Invalid", "status.failed", "decrease")
    refused(_update(stage, succeeded=0), 422, "Invalid", "status.succeeded", "decrease")
    refused(_update(stage, ready=2), 422, "Invalid", "status.ready", "more ready pods than active")


@behaviour("only an indexed job has completed indexes", since=SINCE)
def _(stage: ApiStage) -> None:
    _created(stage)
    answer = _update(stage, completedIndexes="0-1")
    refused(answer, 422, "Invalid", "status.completedIndexes")


@behaviour("counts of a job's pods are not negative")
def _(stage: ApiStage) -> None:
    _created(stage)
    refused(_update(stage, failed=-1), 422, "Invalid", "status.failed")


@behaviour("a time must be one")
def _(stage: ApiStage) -> None:
    made = {**job(suspend=True), "status": {"startTime": "yesterday"}}
    answer = stage.api.call("POST", stage.group("batch/v1", "jobs"), made)
    refused(answer, 400, "BadRequest", "parsing time", "yesterday")
