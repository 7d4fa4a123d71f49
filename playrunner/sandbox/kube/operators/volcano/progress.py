"""The next move for a Volcano job, from what is there now: pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from playrunner.sandbox.kube.controllers.framework.pods import is_over, phase_of
from playrunner.sandbox.kube.controllers.framework.resources import Object, is_leaving
from playrunner.sandbox.kube.operators.objects import seconds_since, stamp
from playrunner.sandbox.kube.operators.volcano.pods import index_of, pod_of, task_of, version_of
from playrunner.sandbox.kube.operators.volcano.policies import RequestedAction
from playrunner.sandbox.kube.operators.volcano.spec import Task, VolcanoJob

FINISHED = ("Completed", "Failed", "Terminated", "Aborted")
_KILLING = {
    "AbortJob": "Aborting",
    "CompleteJob": "Completing",
    "TerminateJob": "Terminating",
    "RestartJob": "Restarting",
    "ResumeJob": "Restarting",
}
_KILLED = {"Aborting": "Aborted", "Completing": "Completed", "Terminating": "Terminated"}


@dataclass(frozen=True)
class Move:
    """What to do about it, in this order; then look again after so many seconds."""

    delete: tuple[Object, ...] = ()
    create: tuple[Object, ...] = ()
    status: Object = field(default_factory=dict)
    action: str = ""  # what was begun because of an event or a command
    remove_job: bool = False
    again_seconds: float | None = None


def next_move(
    job: VolcanoJob,
    pods: list[Object],
    admitted: bool,
    requested: RequestedAction | None,
    command: str,
    now: datetime,
) -> Move:
    """`admitted`: its pod group has left the queue; `requested`: what policies call for; `command`:
    the command that was issued."""
    action = command or (
        requested.action if requested is not None and job.phase in ("Pending", "Running") else ""
    )
    if _is_possible(action, job.phase):
        status = _counted(job, pods)
        if _KILLING[action] == "Restarting":
            status |= {
                "retryCount": job.retries + 1,
                "version": job.version + 1,
            }  # pods of this start have had their say
        return Move(status=_entered(status, _KILLING[action], now), action=action)
    if job.phase in _KILLED or job.phase == "Restarting":
        return _killing(job, pods, now)
    if job.phase in FINISHED:
        return _finished(job, pods, now)
    restarted = _restarted_pods(job, pods, requested, action)
    return _working(job, pods, admitted, restarted, action if restarted else "", now)


def _is_possible(action: str, phase: str) -> bool:
    if action == "ResumeJob":
        return phase in ("Aborting", "Aborted")
    return action in _KILLING and phase in ("Pending", "Running")


def _killing(job: VolcanoJob, pods: list[Object], now: datetime) -> Move:
    """A restart takes every pod; an end keeps those that ended by themselves."""
    going = pods if job.phase == "Restarting" else [one for one in pods if not is_over(one)]
    status = _counted(job, pods)
    if going:
        return Move(delete=_leaveable(going), status=status)
    if job.phase == "Restarting":
        phase = "Failed" if job.retries >= job.most_retries else "Pending"
    else:
        phase = _KILLED[job.phase]
    return Move(status=_entered(status, phase, now))


def _finished(job: VolcanoJob, pods: list[Object], now: datetime) -> Move:
    going = _leaveable(one for one in pods if not is_over(one))
    status = _counted(job, pods)
    if (
        job.ttl_seconds is None or job.phase == "Aborted"
    ):  # one that was aborted may be taken up again
        return Move(delete=going, status=status)
    left = job.ttl_seconds - seconds_since(status["state"]["lastTransitionTime"], now)
    return Move(delete=going, status=status, remove_job=left <= 0, again_seconds=max(0.1, left))


def _working(
    job: VolcanoJob,
    pods: list[Object],
    admitted: bool,
    restarted: list[Object],
    action: str,
    now: datetime,
) -> Move:
    names = {pod["metadata"]["name"] for pod in pods}
    missing = [
        pod_of(job, task, index)
        for task in job.tasks
        if _may_start(job, task, pods)
        for index in range(task.replicas)
        if job.pod_name(task, index) not in names
    ]
    replicas = {task.name: task.replicas for task in job.tasks}
    surplus = [pod for pod in pods if index_of(pod) >= replicas.get(task_of(pod), 0)]
    status = _counted(job, [pod for pod in pods if pod not in surplus])
    phase = _phase_after(job, status)
    create = tuple(missing) if admitted and phase not in FINISHED else ()
    if phase != job.phase or "state" not in job.status:
        status = _entered(status, phase, now)
    return Move(
        delete=_leaveable([*surplus, *restarted]), create=create, status=status, action=action
    )


def _phase_after(job: VolcanoJob, status: Object) -> str:
    succeeded, failed, running = (
        int(status.get(name, 0)) for name in ("succeeded", "failed", "running")
    )
    if job.phase == "Pending":
        return "Running" if running + succeeded + failed >= job.least else "Pending"
    if job.least_successes is not None and succeeded >= job.least_successes:
        return "Completed"
    if succeeded + failed < job.replicas:
        return "Running"
    return "Completed" if job.least_successes is None and succeeded >= job.least else "Failed"


def _may_start(job: VolcanoJob, task: Task, pods: list[Object]) -> bool:
    """Once every task that it depends on runs, or ran."""
    for other in job.tasks:
        if other.name in task.after:
            there = [
                one
                for one in pods
                if task_of(one) == other.name and phase_of(one) in ("Running", "Succeeded")
            ]
            if len(there) < other.least:
                return False
    return True


def _restarted_pods(
    job: VolcanoJob, pods: list[Object], requested: RequestedAction | None, action: str
) -> list[Object]:
    if requested is None or action != requested.action:
        return []
    if action == "RestartPod":
        return [one for one in pods if one["metadata"]["name"] == requested.event.pod]
    return (
        [one for one in pods if task_of(one) == requested.event.task]
        if action == "RestartTask"
        else []
    )


def _counted(job: VolcanoJob, pods: list[Object]) -> Object:
    """The status with its numbers brought up to date; numbers of nothing are left out."""
    present = [pod for pod in pods if not is_leaving(pod) and version_of(pod) == job.version]
    phases = [phase_of(pod) for pod in present]
    numbers = {
        name.lower(): phases.count(name)
        for name in ("Pending", "Running", "Succeeded", "Failed", "Unknown")
    }
    numbers["terminating"] = len(pods) - len(present)
    tasks = {}
    for task in job.tasks:
        own = [phase_of(pod) for pod in present if task_of(pod) == task.name]
        if own:
            tasks[task.name] = {"phase": {phase: own.count(phase) for phase in sorted(set(own))}}
    kept = {
        name: value
        for name, value in job.status.items()
        if name not in numbers and name != "taskStatusCount"
    }
    status = {name: value for name, value in numbers.items() if value} | (
        {"taskStatusCount": tasks} if tasks else {}
    )
    resources = {f"plugin-{name}": name for name in sorted(job.plugins)}
    return (
        kept
        | status
        | {"minAvailable": job.least}
        | ({"controlledResources": resources} if resources else {})
    )


def _entered(status: Object, phase: str, now: datetime) -> Object:
    moment = stamp(now)
    conditions = [
        *(status.get("conditions") or ()),
        {"status": phase, "lastTransitionTime": moment},
    ]
    return status | {
        "state": {"phase": phase, "lastTransitionTime": moment},
        "conditions": conditions,
    }


def _leaveable(pods: Iterable[Object]) -> tuple[Object, ...]:
    return tuple({one["metadata"]["name"]: one for one in pods if not is_leaving(one)}.values())
