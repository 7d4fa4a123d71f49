"""A job of numbered replicas, read from its object; and what one operator says differently from
another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playrunner.sandbox.kube.controllers.framework.resources import Object, Resource
from playrunner.sandbox.kube.operators.installed import Operator


@dataclass(frozen=True)
class Replicas:
    """The replicas of one kind: Master or Worker."""

    kind: str
    count: int
    restart: str  # Always, OnFailure, Never, ExitCode
    template: Object

    @property
    def word(self) -> str:
        return self.kind.lower()


@dataclass(frozen=True)
class RunPolicy:
    """When a job ends, and what happens to its pods then."""

    clean: str = "None"  # which pods go when the job has ended: None, Running, All
    backoff_limit: int | None = None
    deadline_seconds: int | None = None
    ttl_seconds: int | None = None
    suspend: bool = False
    scheduling: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(written: Object) -> RunPolicy:
        return RunPolicy(
            clean=written.get("cleanPodPolicy") or "None",
            backoff_limit=written.get("backoffLimit"),
            deadline_seconds=written.get("activeDeadlineSeconds"),
            ttl_seconds=written.get("ttlSecondsAfterFinished"),
            suspend=bool(written.get("suspend")),
            scheduling=written.get("schedulingPolicy") or {},
        )


@dataclass(frozen=True)
class ReplicaJob:
    """One job."""

    object: Object
    replicas: tuple[Replicas, ...]
    policy: RunPolicy

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def spec(self) -> Object:
        return dict(self.object["spec"])

    @property
    def total(self) -> int:
        return sum(one.count for one in self.replicas)

    def of_kind(self, kind: str) -> Replicas | None:
        return next((one for one in self.replicas if one.kind == kind), None)

    def pod_name(self, replicas: Replicas, index: int) -> str:
        return f"{self.name}-{replicas.word}-{index}"


@dataclass(frozen=True)
class Tally:
    """How many replicas of one kind are where."""

    wanted: int
    active: int = 0
    succeeded: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Dialect:
    """What one operator does in its own way."""

    resource: Resource
    operator: Operator
    component: str  # who its events are from
    container: str  # the one whose exit code and ports count
    read: Callable[[Object], ReplicaJob]
    labels: Callable[[ReplicaJob, Replicas, int], dict[str, str]]
    complete: Callable[
        [ReplicaJob, Replicas, int, Object], None
    ]  # gives a pod its variables, arguments and the like, in place
    ports: Callable[[ReplicaJob, Replicas], list[Object]]
    succeeded: Callable[[ReplicaJob, dict[str, Tally]], bool]
    autoscaler: Callable[[ReplicaJob], Object | None] = lambda job: None
    whole_status: bool = False  # writes its status with the whole object: there is no subresource

    @property
    def noun(self) -> str:
        return self.resource.kind


def replicas_of(
    specs: Object, order: tuple[str, ...], default_restart: str
) -> tuple[Replicas, ...]:
    """Kinds are known whatever their letters' case."""
    by_kind = {kind.capitalize(): one for kind, one in specs.items()}
    return tuple(
        Replicas(
            kind=kind,
            count=int(by_kind[kind]["replicas"])
            if by_kind[kind].get("replicas") is not None
            else 1,
            restart=by_kind[kind].get("restartPolicy") or default_restart,
            template=by_kind[kind].get("template") or {},
        )
        for kind in order
        if kind in by_kind
    )
