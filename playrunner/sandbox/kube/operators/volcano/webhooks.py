"""What Volcano's admission fills in, and what it refuses."""

from __future__ import annotations

from collections import Counter
from typing import Any

from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.controllers.framework.world import World
from playrunner.sandbox.kube.operators.kinds import QUEUES
from playrunner.sandbox.kube.operators.pod_group import SCHEDULER_NAME
from playrunner.sandbox.kube.operators.reviews import Question, Verdict
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


def complete_job(world: World, question: Question) -> Verdict:
    spec = question.object["spec"]
    tasks = [
        {**one, "name": one.get("name") or f"default{number}"}
        for number, one in enumerate(spec.get("tasks") or ())
    ]
    tasks = [
        {**one, "minAvailable": one.get("minAvailable", one.get("replicas", 1))} for one in tasks
    ]
    defaults = {
        "queue": DEFAULT_QUEUE,
        "schedulerName": SCHEDULER_NAME,
        "maxRetry": MOST_RETRIES,
        "minAvailable": sum(one["minAvailable"] for one in tasks),
    }
    added: list[tuple[str, Any]] = [
        (f"/spec/{name}", value) for name, value in defaults.items() if not _is_set(spec.get(name))
    ]
    return Verdict(
        added=(*added, *([("/spec/tasks", tasks)] if tasks != spec.get("tasks") else ()))
    )


def judge_job(world: World, question: Question) -> Verdict:
    if question.operation == "UPDATE":
        return Verdict(_changed_too_much(question))
    return Verdict(" ".join(_problems(world, question.object)))


def complete_pod_group(world: World, question: Question) -> Verdict:
    has_queue = bool((question.object.get("spec") or {}).get("queue"))
    return Verdict() if has_queue else Verdict(added=(("/spec/queue", DEFAULT_QUEUE),))


def complete_queue(world: World, question: Question) -> Verdict:
    spec = question.object.get("spec")
    if spec is None:
        return Verdict(added=(("/spec", {"reclaimable": True, "weight": 1}),))
    missing = {
        name: value
        for name, value in {"reclaimable": True, "weight": 1}.items()
        if spec.get(name) is None
    }
    return Verdict(added=tuple((f"/spec/{name}", value) for name, value in missing.items()))


def judge_queue(world: World, question: Question) -> Verdict:
    name = question.name or question.object["metadata"]["name"]
    if question.operation == "DELETE":
        state = (question.object.get("status") or {}).get("state") or ""
        if name in _KEPT_QUEUES:
            return Verdict(f"`{name}` queue can not be deleted")
        closed = state == "Closed"
        return Verdict(
            ""
            if closed
            else f"only queue with state `Closed` can be deleted, queue `{name}` state is `{state}`"
        )
    weight = (question.object.get("spec") or {}).get("weight", 1)
    problem = (
        f"requestBody.spec.weight: Invalid value: {weight}: queue weight must be a positive integer"
    )
    return Verdict("" if weight > 0 else problem)


def _problems(world: World, one: Object) -> list[str]:
    job = read(one)
    if not job.tasks:
        return ["No task specified in job spec"]
    found = []
    for name, times in Counter(task.name for task in job.tasks).items():
        if times > 1:
            found.append(f"duplicated task name {name};")
    for task in job.tasks:
        if task.replicas < 0:
            found.append(f"'replicas' < 0 in task: {task.name};")
        if task.least > task.replicas:
            found.append(
                f"'minAvailable' is greater than 'replicas' in task: {task.name}, job: {job.name};"
            )
        if not (task.template.get("spec") or {}).get("containers"):
            found.append(f"spec.task[{task.name}].template.spec.containers: Required value;")
    if job.replicas < job.least:
        found.append("job 'minAvailable' should not be greater than total replicas in tasks;")
    for policy in [*job.policies, *(each for task in job.tasks for each in task.policies)]:
        if policy.action not in _ACTIONS:
            found.append(f"invalid policy action: {policy.action};")
        if not policy.events and policy.exit_code is None:
            found.append("either event and exitCode should be specified;")
    return found + _queue_problems(world, job.queue)


def _queue_problems(world: World, name: str) -> list[str]:
    queue = world.see(QUEUES).get("", name)
    if queue is None:
        return [f'unable to find job queue: queues.scheduling.volcano.sh "{name}" not found;']
    state = (queue.get("status") or {}).get("state") or "Open"
    closed = f"can only submit job to queue with state `Open`, queue `{name}` status is `{state}`;"
    return [] if state == "Open" else [closed]


def _changed_too_much(question: Question) -> str:
    def fixed(one: Object) -> Object:
        tasks = [{name: value for name, value in task.items() if name not in ("replicas", "minAvailable")}
                 for task in one["spec"].get("tasks") or ()]  # fmt: skip
        kept = {
            name: value
            for name, value in one["spec"].items()
            if name not in ("minAvailable", "priorityClassName")
        }
        return {**kept, "tasks": tasks}

    if fixed(question.object) == fixed(question.before):
        return ""
    return (
        "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under"
        " spec`"
    )


def _is_set(value: Any) -> bool:
    return value is not None and value != "" and value != 0
