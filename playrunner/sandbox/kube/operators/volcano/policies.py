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
class Wish:
    """An action, and what called for it."""

    action: str
    event: Event


def wish_of(job: VolcanoJob, pods: list[Object], lost: Iterable[Object]) -> Wish | None:
    """The first action that a policy calls for; `lost`: pods of the job that somebody else removed."""
    for event in events_of(job, pods, lost):
        action = action_for(job, event)
        if action != DO_NOTHING:
            return Wish(action, event)
    return None


def events_of(job: VolcanoJob, pods: list[Object], lost: Iterable[Object]) -> list[Event]:
    """Only of the pods of this start: those of earlier ones have had their say."""
    present = [one for one in pods if version_of(one) == job.version and not is_leaving(one)]
    found = [
        Event("PodFailed", task_of(one), one["metadata"]["name"], exit_code_of(one))
        for one in present
        if phase_of(one) == "Failed"
    ]
    found += [
        Event("PodEvicted", task_of(one), one["metadata"]["name"])
        for one in lost
        if version_of(one) == job.version
    ]
    for task in job.tasks:
        phases = [phase_of(one) for one in present if task_of(one) == task.name]
        if task.replicas and phases.count("Succeeded") >= task.replicas:
            found.append(Event("TaskCompleted", task.name))
        if task.replicas and phases.count("Failed") > task.replicas - task.least:
            found.append(Event("TaskFailed", task.name))
    return found


def action_for(job: VolcanoJob, event: Event) -> str:
    """A task's own policies come before the job's."""
    task: Task | None = next((one for one in job.tasks if one.name == event.task), None)
    for policies in (task.policies if task else (), job.policies):
        for one in policies:
            if one.follows(event.name, event.exit_code):
                return one.action
    return DO_NOTHING
