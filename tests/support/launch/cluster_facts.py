"""Facts of a run as its cluster reports them, to be diagnosed."""

from __future__ import annotations

from typing import Any

from playrunner.training.diagnosis.evidence import Cause
from playrunner.training.kube.diagnosis.facts import Facts
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.why import causes

NOW = 1_000_000.0


def facts(
    launcher: str = "job",
    state: str = "pending",
    pods: tuple[dict[str, Any], ...] = (),
    **more: Any,
) -> Facts:
    summary = {
        "name": "run",
        "run_id": "run-hpz",
        "namespace": "default",
        "launcher": launcher,
        "replicas": 2,
        "steps": 100,
        "claim": "shared",
        "created": NOW - 300,
    }
    job = more.pop("job", {"metadata": {"name": "run-hpz"}, "status": {"active": 2}})
    run = ClusterRun(summary, Status(state, "Active", more.pop("reason", "")), job, pods)
    bound = {"metadata": {"name": "shared"}, "status": {"phase": "Bound"}}
    return Facts(run, NOW, **{"claim": bound, **more})


def pod(
    phase: str = "Pending", scheduled: str = "", container: dict[str, Any] | None = None
) -> dict[str, Any]:
    conditions = (
        [{"type": "PodScheduled", "status": "False", "message": scheduled}] if scheduled else []
    )
    statuses = [{"name": "pytorch", "image": "i:1", **container}] if container else []
    return {
        "metadata": {"name": "run-hpz-0", "namespace": "default"},
        "spec": {"nodeName": "n"},
        "status": {"phase": phase, "conditions": conditions, "containerStatuses": statuses},
    }


def event(reason: str, message: str, about: str = "run-hpz-0") -> dict[str, Any]:
    return {
        "reason": reason,
        "message": message,
        "type": "Warning",
        "involvedObject": {"name": about, "kind": "Pod"},
    }


def likeliest(found: Facts) -> Cause:
    return causes(found)[0]
