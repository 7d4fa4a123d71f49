"""What Volcano's admission fills in, and what it refuses."""

from __future__ import annotations

from collections import Counter
from typing import Any

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.operators.kinds import QUEUES
from playrunner.sandbox.kube.operators.pod_group import SCHEDULER_NAME
from playrunner.sandbox.kube.operators.reviews import ReviewAnswer, ReviewRequest
from playrunner.sandbox.kube.operators.volcano.spec import DEFAULT_QUEUE, MOST_RETRIES, read

_ACTIONS = (
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
)
_KEPT_QUEUES = ("default", "root")


def complete_job(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    spec = request.object["spec"]
    tasks = [
        {**task, "name": task.get("name") or f"default{number}"}
        for number, task in enumerate(spec.get("tasks") or ())
    ]
    tasks = [
        {**task, "minAvailable": task.get("minAvailable", task.get("replicas", 1))}
        for task in tasks
    ]
    defaults = {
        "queue": DEFAULT_QUEUE,
        "schedulerName": SCHEDULER_NAME,
        "maxRetry": MOST_RETRIES,
        "minAvailable": sum(task["minAvailable"] for task in tasks),
    }
    added: list[tuple[str, Any]] = [
        (f"/spec/{name}", value) for name, value in defaults.items() if not _is_set(spec.get(name))
    ]
    return ReviewAnswer(
        added=(*added, *([("/spec/tasks", tasks)] if tasks != spec.get("tasks") else ()))
    )


def judge_job(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    if request.operation == "UPDATE":
        return ReviewAnswer(_changed_too_much(request))
    return ReviewAnswer(" ".join(_problems(context, request.object)))


def complete_pod_group(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    has_queue = bool((request.object.get("spec") or {}).get("queue"))
    return ReviewAnswer() if has_queue else ReviewAnswer(added=(("/spec/queue", DEFAULT_QUEUE),))


def complete_queue(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    spec = request.object.get("spec")
    if spec is None:
        return ReviewAnswer(added=(("/spec", {"reclaimable": True, "weight": 1}),))
    missing = {
        name: value
        for name, value in {"reclaimable": True, "weight": 1}.items()
        if spec.get(name) is None
    }
    return ReviewAnswer(added=tuple((f"/spec/{name}", value) for name, value in missing.items()))


def judge_queue(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    name = request.name or request.object["metadata"]["name"]
    if request.operation == "DELETE":
        state = (request.object.get("status") or {}).get("state") or ""
        if name in _KEPT_QUEUES:
            return ReviewAnswer(f"`{name}` queue can not be deleted")
        closed = state == "Closed"
        return ReviewAnswer(
            ""
            if closed
            else f"only queue with state `Closed` can be deleted, queue `{name}` state is `{state}`"
        )
    weight = (request.object.get("spec") or {}).get("weight", 1)
    problem = (
        f"requestBody.spec.weight: Invalid value: {weight}: queue weight must be a positive integer"
    )
    return ReviewAnswer("" if weight > 0 else problem)


def _problems(context: ControllerContext, job_object: Object) -> list[str]:
    job = read(job_object)
    if not job.tasks:
        return ["No task specified in job spec"]
    problems = []
    for name, times in Counter(task.name for task in job.tasks).items():
        if times > 1:
            problems.append(f"duplicated task name {name};")
    for task in job.tasks:
        if task.replicas < 0:
            problems.append(f"'replicas' < 0 in task: {task.name};")
        if task.least > task.replicas:
            problems.append(
                f"'minAvailable' is greater than 'replicas' in task: {task.name}, job: {job.name};"
            )
        if not (task.template.get("spec") or {}).get("containers"):
            problems.append(f"spec.task[{task.name}].template.spec.containers: Required value;")
    if job.replicas < job.least:
        problems.append("job 'minAvailable' should not be greater than total replicas in tasks;")
    for policy in [*job.policies, *(each for task in job.tasks for each in task.policies)]:
        if policy.action not in _ACTIONS:
            problems.append(f"invalid policy action: {policy.action};")
        if not policy.events and policy.exit_code is None:
            problems.append("either event and exitCode should be specified;")
    return problems + _queue_problems(context, job.queue)


def _queue_problems(context: ControllerContext, name: str) -> list[str]:
    queue = context.see(QUEUES).get("", name)
    if queue is None:
        return [f'unable to find job queue: queues.scheduling.volcano.sh "{name}" not found;']
    state = (queue.get("status") or {}).get("state") or "Open"
    closed = f"can only submit job to queue with state `Open`, queue `{name}` status is `{state}`;"
    return [] if state == "Open" else [closed]


def _changed_too_much(request: ReviewRequest) -> str:
    def fixed(job: Object) -> Object:
        tasks = [
            {
                name: value
                for name, value in task.items()
                if name not in ("replicas", "minAvailable")
            }
            for task in job["spec"].get("tasks") or ()
        ]
        kept = {
            name: value
            for name, value in job["spec"].items()
            if name not in ("minAvailable", "priorityClassName")
        }
        return {**kept, "tasks": tasks}

    if fixed(request.object) == fixed(request.before):
        return ""
    return (
        "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under"
        " spec`"
    )


def _is_set(value: Any) -> bool:
    return value is not None and value != "" and value != 0
