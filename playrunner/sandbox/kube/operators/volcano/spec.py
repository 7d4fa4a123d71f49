"""A Volcano job, read from its object."""

from __future__ import annotations

from dataclasses import dataclass

from playrunner.sandbox.kube.controllers.framework.resources import Object, uid_of

MOST_RETRIES = 3  # how often a job is started at most, where it does not say
DEFAULT_QUEUE = "default"


@dataclass(frozen=True)
class Policy:
    """An action that follows an event, or a certain exit code."""

    events: tuple[str, ...]
    action: str
    exit_code: int | None = None

    @staticmethod
    def of(written: Object) -> Policy:
        events = [
            *(written.get("events") or ()),
            *([written["event"]] if written.get("event") else []),
        ]
        return Policy(tuple(events), written.get("action") or "SyncJob", written.get("exitCode"))

    def follows(self, event: str, exit_code: int | None) -> bool:
        if self.exit_code is not None:
            return event == "PodFailed" and exit_code == self.exit_code
        return event in self.events or "*" in self.events


@dataclass(frozen=True)
class Task:
    """Some pods of one template."""

    name: str
    replicas: int
    least: int
    template: Object
    policies: tuple[Policy, ...]
    after: tuple[str, ...] = ()  # tasks that have to be running before this one is started


@dataclass(frozen=True)
class VolcanoJob:
    """One job."""

    object: Object
    tasks: tuple[Task, ...]
    policies: tuple[Policy, ...]
    least: int
    queue: str
    most_retries: int
    least_successes: int | None
    ttl_seconds: int | None
    plugins: dict[str, list[str]]

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.object["metadata"]["namespace"])

    @property
    def group(self) -> str:
        """The name of its pod group."""
        return f"{self.name}-{uid_of(self.object)}"

    @property
    def status(self) -> Object:
        return dict(self.object.get("status") or {})

    @property
    def phase(self) -> str:
        return str((self.status.get("state") or {}).get("phase") or "Pending")

    @property
    def version(self) -> int:
        return int(self.status.get("version") or 0)

    @property
    def retries(self) -> int:
        return int(self.status.get("retryCount") or 0)

    @property
    def replicas(self) -> int:
        return sum(one.replicas for one in self.tasks)

    def pod_name(self, task: Task, index: int) -> str:
        return f"{self.name}-{task.name}-{index}"


def read(job: Object) -> VolcanoJob:
    spec = job["spec"]
    tasks = tuple(_task(written, number) for number, written in enumerate(spec.get("tasks") or ()))
    return VolcanoJob(
        object=job,
        tasks=tasks,
        policies=tuple(Policy.of(each) for each in spec.get("policies") or ()),
        least=int(spec.get("minAvailable") or sum(each.least for each in tasks)),
        queue=spec.get("queue") or DEFAULT_QUEUE,
        most_retries=int(spec["maxRetry"]) if spec.get("maxRetry") is not None else MOST_RETRIES,
        least_successes=spec.get("minSuccess"),
        ttl_seconds=spec.get("ttlSecondsAfterFinished"),
        plugins={name: list(words or ()) for name, words in (spec.get("plugins") or {}).items()},
    )


def _task(written: Object, number: int) -> Task:
    replicas = int(written["replicas"]) if written.get("replicas") is not None else 1
    return Task(
        name=written.get("name") or f"default{number}",
        replicas=replicas,
        least=int(written["minAvailable"]) if written.get("minAvailable") is not None else replicas,
        template=written.get("template") or {},
        policies=tuple(Policy.of(each) for each in written.get("policies") or ()),
        after=tuple((written.get("dependsOn") or {}).get("name") or ()),
    )
