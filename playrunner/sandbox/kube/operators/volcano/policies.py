"""What happened to a Volcano job, and what its policies say should follow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from playrunner.sandbox.kube.controllers.framework.pods import phase_of
from playrunner.sandbox.kube.controllers.framework.resources import Object, is_leaving
from playrunner.sandbox.kube.operators.objects import exit_code_of
from playrunner.sandbox.kube.operators.volcano.pods import task_of, version_of
from playrunner.sandbox.kube.operators.volcano.spec import Task, VolcanoJob

DO_NOTHING = "SyncJob"


@dataclass(frozen=True)
class Event:
    """Something that happened to one task, or to one pod of it."""

    name: str
    task: str
    pod: str = ""
    exit_code: int | None = None


@dataclass(frozen=True)
class RequestedAction:
    """An action, and what called for it."""

    action: str
    event: Event


def requested_action(
    job: VolcanoJob, pods: list[Object], lost: Iterable[Object]
) -> RequestedAction | None:
    """The first action that a policy calls for; `lost`: pods of the job that were removed from
    outside."""
    for event in events_of(job, pods, lost):
        action = action_for(job, event)
        if action != DO_NOTHING:
            return RequestedAction(action, event)
    return None


def events_of(job: VolcanoJob, pods: list[Object], lost: Iterable[Object]) -> list[Event]:
    """Only of the pods of this start: those of earlier ones have had their say."""
    present = [pod for pod in pods if version_of(pod) == job.version and not is_leaving(pod)]
    events = [
        Event("PodFailed", task_of(pod), pod["metadata"]["name"], exit_code_of(pod))
        for pod in present
        if phase_of(pod) == "Failed"
    ]
    events += [
        Event("PodEvicted", task_of(pod), pod["metadata"]["name"])
        for pod in lost
        if version_of(pod) == job.version
    ]
    for task in job.tasks:
        phases = [phase_of(pod) for pod in present if task_of(pod) == task.name]
        if task.replicas and phases.count("Succeeded") >= task.replicas:
            events.append(Event("TaskCompleted", task.name))
        if task.replicas and phases.count("Failed") > task.replicas - task.least:
            events.append(Event("TaskFailed", task.name))
    return events


def action_for(job: VolcanoJob, event: Event) -> str:
    """A task's own policies come before the job's."""
    task: Task | None = next((one for one in job.tasks if one.name == event.task), None)
    for policies in (task.policies if task else (), job.policies):
        for one in policies:
            if one.follows(event.name, event.exit_code):
                return one.action
    return DO_NOTHING
