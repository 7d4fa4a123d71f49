"""How JobSet's admission completes a JobSet, and what it refuses."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.operators.jobset.jobs import job_name, replicas, replicated_jobs
from playrunner.sandbox.kube.operators.reviews import ReviewAnswer, ReviewRequest

_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_GATED = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
# What Kueue may change in a suspended one: part of the template, and its fields
_OPEN = (("metadata", ("labels", "annotations")), ("spec", ("nodeSelector", "tolerations")))


def complete_job_set(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    spec = copy.deepcopy(request.object.get("spec") or {})
    spec.setdefault("successPolicy", {"operator": "All"})
    spec.setdefault("startupPolicy", {"startupPolicyOrder": "AnyOrder"})
    network = spec.setdefault("network", {})
    network.setdefault("enableDNSHostnames", True)
    network.setdefault("publishNotReadyAddresses", True)
    for replicated in spec.get("replicatedJobs") or ():
        job = replicated["template"].setdefault("spec", {})
        job.setdefault("completionMode", "Indexed")
        pod = job.setdefault("template", {}).setdefault("spec", {})
        pod.setdefault("restartPolicy", "OnFailure")
    return ReviewAnswer(added=(("/spec", spec),))


def judge_job_set(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    if request.operation == "UPDATE":
        return ReviewAnswer(_changed(request.before, request.object), code=422)
    return ReviewAnswer("; ".join(_problems(request.object)), code=422)


def pass_pod(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    """Pods are only judged for exclusive placement, which is not rehearsed here."""
    return ReviewAnswer()


def _problems(job_set: Object) -> Iterator[str]:
    names = [replicated["name"] for replicated in replicated_jobs(job_set)]
    spec = job_set["spec"]
    for at, replicated in enumerate(replicated_jobs(job_set)):
        last = job_name(job_set, replicated, replicas(replicated) - 1)
        job = (replicated.get("template") or {}).get("spec") or {}
        if not _LABEL.fullmatch(last):
            yield f"{_where(at, last)}: its jobs' names are longer than 63 characters or no label"
        elif len(f"{last}-{int(job.get('completions') or 1) - 1}-abcde") > 63:
            yield f"{_where(at, last)}: its pods' names are longer than 63 characters"
        for other in replicated.get("dependsOn") or ():
            if other["name"] not in names[:at]:
                yield f"replicatedJob: {replicated['name']} cannot depend on {other['name']}"
    for name in (spec.get("successPolicy") or {}).get("targetReplicatedJobs") or ():
        if name not in names:
            yield f"invalid replicatedJob name '{name}' does not appear in .spec.ReplicatedJobs"
    for rule in (spec.get("failurePolicy") or {}).get("rules") or ():
        if rule["action"] in _GATED:
            yield f"failure policy action {rule['action']} needs the feature gate RestartJob"


def _where(at: int, name: str) -> str:
    return f'spec.replicatedJobs[{at}].name: Invalid value: "{name}"'


def _changed(before: Object, after: Object) -> str:
    old, new = replicated_jobs(before), replicated_jobs(after)
    if before["spec"].get("suspend") or after["spec"].get("suspend"):
        old, new = [_closed(each) for each in old], [_closed(each) for each in new]
    if old != new:
        return "spec.replicatedJobs: Invalid value: field is immutable"
    for name in ("failurePolicy", "successPolicy", "network", "startupPolicy", "managedBy"):
        if before["spec"].get(name) != after["spec"].get(name):
            return f"spec.{name}: Invalid value: Value is immutable"
    return ""


def _closed(replicated: Object) -> Object:
    """Without what may change."""
    immutable_part: dict[str, Any] = copy.deepcopy(replicated)
    template = (immutable_part["template"].get("spec") or {}).get("template") or {}
    for part, fields in _OPEN:
        for name in fields:
            (template.get(part) or {}).pop(name, None)
    return immutable_part
