"""What a job should do next, from the job and its pods alone: which pods are missing, what counts,
how it ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from playrunner.sandbox.kube.controllers.framework.controller_context import seconds_since
from playrunner.sandbox.kube.controllers.framework.pods import (
    condition,
    is_active,
    is_over,
    phase_of,
)
from playrunner.sandbox.kube.controllers.framework.resources import (
    Object,
    annotations_of,
    is_leaving,
    uid_of,
)

INDEX = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True)
class JobOutcome:
    """How a job ends: Complete or Failed."""

    kind: str
    reason: str
    message: str

    @property
    def target(self) -> str:
        """The condition that announces the end while pods still run."""
        return "SuccessCriteriaMet" if self.kind == "Complete" else "FailureTarget"


@dataclass
class Tally:
    """What has ended so far."""

    succeeded: int = 0
    failed: int = 0
    done: set[int] = field(default_factory=set)  # indexes that have succeeded
    refusal: str = ""  # why one failure was enough
    seen: set[str] = field(default_factory=set)

    @staticmethod
    def of(job: Object) -> Tally:
        """As far as its status tells, for jobs that are older than we are."""
        status = job.get("status") or {}
        return (
            Tally(done=_indexes(status.get("completedIndexes", ""))) if is_indexed(job) else Tally()
        )

    def count(self, job: Object, pods: Iterable[Object]) -> None:
        for pod in pods:
            if uid_of(pod) in self.seen or not (is_over(pod) or is_leaving(pod)):
                continue
            self.seen.add(uid_of(pod))
            index = index_of(pod)
            if phase_of(pod) == "Succeeded" and (index is None or index not in self.done):
                self.succeeded += 1
                self.done |= {index} if index is not None else set()
            elif phase_of(pod) != "Succeeded":
                self._count_failure(job, pod)

    def _count_failure(self, job: Object, pod: Object) -> None:
        action, why = _policy(job, pod)
        if action == "FailJob":
            self.refusal = why
        if action != "Ignore" and (phase_of(pod) == "Failed" or pod["spec"].get("nodeName")):
            self.failed += 1


def is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def index_of(pod: Object) -> int | None:
    found = annotations_of(pod).get(INDEX)
    return int(found) if found is not None else None


def is_finished(job: Object) -> bool:
    return "True" in (condition(job, "Complete"), condition(job, "Failed"))


def outcome(job: Object, tally: Tally, pods: list[Object]) -> JobOutcome | None:
    """How it ends; None while it goes on. What was announced holds, whatever its pods do then."""
    spec = job["spec"]
    if (announced := _announced(job)) is not None:
        return announced
    if tally.refusal:
        return JobOutcome("Failed", "PodFailurePolicy", tally.refusal)
    if _too_often(job, tally, pods):
        return JobOutcome(
            "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        )
    started, deadline = (
        (job.get("status") or {}).get("startTime"),
        spec.get("activeDeadlineSeconds"),
    )
    if deadline and started and not spec.get("suspend") and seconds_since(started) >= deadline:
        return JobOutcome(
            "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"
        )
    wanted = spec.get("completions")
    enough = (
        tally.succeeded >= wanted
        if wanted is not None
        else tally.succeeded > 0 and not any(map(is_active, pods))
    )
    if enough and not (wanted == 0 and not started):
        return JobOutcome(
            "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
        )
    return None


def _announced(job: Object) -> JobOutcome | None:
    kinds = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}
    for one in (job.get("status") or {}).get("conditions") or ():
        if one["type"] in kinds and one["status"] == "True":
            return JobOutcome(kinds[one["type"]], one.get("reason", ""), one.get("message", ""))
    return None


def _too_often(job: Object, tally: Tally, pods: list[Object]) -> bool:
    limit = job["spec"].get("backoffLimit", 6)
    if tally.failed > limit:
        return True
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(one.get("restartCount", 0) for pod in pods if is_active(pod)
                   for one in (pod.get("status") or {}).get("containerStatuses") or ())  # fmt: skip
    return bool(restarts > limit if limit == 0 else restarts >= limit) and restarts > 0


def missing(
    job: Object, tally: Tally, active: list[Object]
) -> tuple[list[int | None], list[Object]]:
    """The pods to start, by index where they have one, and those to end."""
    spec = job["spec"]
    parallelism = spec.get("parallelism", 1)
    if not is_indexed(job):
        wanted = parallelism
        if spec.get("completions") is not None:
            wanted = min(parallelism, spec["completions"] - tally.succeeded)
        elif tally.succeeded:
            wanted = len(active)
        return [None] * max(0, wanted - len(active)), active[max(0, wanted) :]
    by_index: dict[int, list[Object]] = {}
    for pod in active:
        by_index.setdefault(index_of(pod) or 0, []).append(pod)
    open_ones = [index for index in range(spec.get("completions") or 0) if index not in tally.done]
    running = [index for index in open_ones if index in by_index]
    fresh = [index for index in open_ones if index not in by_index][
        : max(0, parallelism - len(running))
    ]
    kept = set(running[:parallelism])
    surplus = [
        pod for index, pods in by_index.items() for pod in (pods[1:] if index in kept else pods)
    ]
    return list(fresh), surplus


def indexed_template(template: Object, job: str, index: int) -> Object:
    """The template for one index: its number in the environment, its own host name."""
    number = {"name": "JOB_COMPLETION_INDEX", "value": str(index)}
    spec = {**template["spec"], "hostname": f"{job}-{index}"[:63]}
    for name in ("containers", "initContainers"):
        if spec.get(name):
            spec[name] = [{**one, "env": [*(one.get("env") or ()), number]} for one in spec[name]]
    return {**template, "spec": spec}


def ranges(indexes: set[int]) -> str:
    """As `0-2,5`."""
    spans: list[list[int]] = []
    for index in sorted(indexes):
        if spans and spans[-1][1] == index - 1:
            spans[-1][1] = index
        else:
            spans.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _indexes(text: str) -> set[int]:
    parts = [part.partition("-") for part in text.split(",") if part]
    return {
        index for first, _, last in parts for index in range(int(first), int(last or first) + 1)
    }


def _policy(job: Object, pod: Object) -> tuple[str, str]:
    """What the job's failure policy says about a pod that failed, and in which words."""
    for number, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or ()):
        for wanted in rule.get("onPodConditions") or ():
            if condition(pod, wanted["type"]) == wanted.get("status", "True"):
                message = (
                    f"Pod {_named(pod)} has condition {wanted['type']} matching {rule['action']}"
                    f" rule at index {number}"
                )
                return rule["action"], message
        codes = rule.get("onExitCodes")
        for name, code in _exit_codes(pod) if codes else ():
            if codes.get("containerName") in (None, name) and (code in codes["values"]) == (
                codes["operator"] == "In"
            ):
                message = f"Container {name} for pod {_named(pod)} failed with exit code {code}"
                return rule["action"], f"{message} matching {rule['action']} rule at index {number}"
    return "Count", ""


def _exit_codes(pod: Object) -> list[tuple[str, int]]:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    ended = [
        (one["name"], ((one.get("state") or {}).get("terminated") or {}).get("exitCode", 0))
        for one in statuses
    ]
    return [(name, code) for name, code in ended if code]


def _named(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
