"""The JobSet of a TrainJob and its runtime, and the TrainJob's status by that JobSet."""

from __future__ import annotations

import copy
from typing import Any

from playrunner.sandbox.kube.controllers.framework.pods import condition
from playrunner.sandbox.kube.controllers.framework.resources import Object, labels_of, owned

STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER = "trainer"
CONTAINER = "node"  # the one that spec.trainer speaks of
_COUNTS = ("ready", "succeeded", "failed", "active", "suspended")
# Of a JobSet's end, and what a TrainJob calls it
_ENDS = (("Completed", "Complete"), ("Failed", "Failed"))


def job_set_of(train_job: Object, runtime: Object) -> Object:
    template = copy.deepcopy(runtime["spec"]["template"])
    spec = template.get("spec") or {}
    for replicated in spec.get("replicatedJobs") or ():
        if labels_of(replicated["template"]).get(STEP) == TRAINER:
            _fill(replicated["template"].setdefault("spec", {}), train_job, runtime)
    meta = template.get("metadata") or {}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": train_job["metadata"]["name"],
            "namespace": train_job["metadata"]["namespace"],
            "labels": dict(meta.get("labels") or {}),
            "annotations": dict(meta.get("annotations") or {}),
            "ownerReferences": owned(train_job),
        },
        "spec": {**spec, "suspend": bool(train_job["spec"].get("suspend"))},
    }


def _fill(job: Object, train_job: Object, runtime: Object) -> None:
    """What the TrainJob says of its trainer wins over the runtime."""
    trainer = train_job["spec"].get("trainer") or {}
    policy = runtime["spec"].get("mlPolicy") or {}
    nodes = int(trainer.get("numNodes") or policy.get("numNodes") or 1)
    job["parallelism"] = job["completions"] = nodes
    containers = ((job.get("template") or {}).get("spec") or {}).get("containers") or ()
    for container in containers:
        if container.get("name") != CONTAINER:
            continue
        for name in ("image", "command", "args"):
            if trainer.get(name):
                container[name] = trainer[name]
        if trainer.get("env"):
            own = {each["name"] for each in trainer["env"]}
            kept = [each for each in container.get("env") or () if each["name"] not in own]
            container["env"] = [*kept, *trainer["env"]]
        if trainer.get("resourcesPerNode"):
            container["resources"] = trainer["resourcesPerNode"]


def status_of(train_job: Object, job_set: Object | None, moment: str) -> Object:
    """Its conditions and counts, as they follow from the JobSet."""
    conditions = {
        str(one["type"]): one for one in (train_job.get("status") or {}).get("conditions") or ()
    }
    suspended = bool(train_job["spec"].get("suspend"))
    if suspended or "Suspended" in conditions:
        reason = ("Suspended", "TrainJob is suspended")
        gone_on = ("Resumed", "TrainJob is resumed")
        _set(conditions, "Suspended", suspended, *(reason if suspended else gone_on), moment)
    for theirs, ours in _ENDS if job_set else ():
        if condition(job_set or {}, theirs) == "True":
            found = _condition(job_set or {}, theirs)
            text = str(found.get("message") or "")
            _set(conditions, ours, True, str(found.get("reason") or ours), text, moment)
    counts = ((job_set or {}).get("status") or {}).get("replicatedJobsStatus") or ()
    jobs = [
        {"name": each["name"], **{name: int(each.get(name) or 0) for name in _COUNTS}}
        for each in counts
    ]
    status: dict[str, Any] = {"conditions": list(conditions.values())} if conditions else {}
    return {**status, **({"jobsStatus": jobs} if jobs else {})}


def _condition(thing: Object, kind: str) -> Object:
    found = (thing.get("status") or {}).get("conditions") or ()
    return next(one for one in found if one.get("type") == kind)


def _set(
    conditions: dict[str, Object], kind: str, holds: bool, reason: str, message: str, moment: str
) -> None:
    status = "True" if holds else "False"
    if conditions.get(kind, {}).get("status") != status:
        conditions[kind] = {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": moment,
        }
