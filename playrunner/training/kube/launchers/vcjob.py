"""vcjob: a Volcano job as TorchX makes it; all pods or none (a gang), one task per replica, begun
again as a whole."""

from __future__ import annotations

from typing import Any

from playrunner.project import program
from playrunner.training.kube.job_spec.command import endpoint, torchrun_flags, trainer_words
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.pod import pod_metadata, pod_spec
from playrunner.training.kube.launchers.kind import Kind, Status, Thing

ROLE = "role1"
_STATES = {
    "Pending": "pending",
    "Inqueue": "pending",
    "Running": "running",
    "Restarting": "running",
    "Completing": "running",
    "Completed": "finished",
    "Failed": "failed",
    "Aborted": "failed",
    "Aborting": "stopping",
    "Terminating": "stopping",
    "Terminated": "failed",
}


def _first_pod(job: ClusterJob) -> str:
    return f"{job.run_id}-{ROLE}-0-0.{job.run_id}"


def _fill(job: ClusterJob) -> dict[str, Any]:
    arguments = [*torchrun_flags(job, endpoint(job, _first_pod(job))), *trainer_words(job)]
    first = f"POD_NAME={job.run_id}-{ROLE}-0-0"
    return {
        "tasks": [
            {
                "name": f"{ROLE}-{at}",
                "pod": {
                    "metadata": pod_metadata(job, _torchx(job, at)),
                    "spec": pod_spec(job, arguments, first, "Never", replica=at),
                },
            }
            for at in range(job.nodes)
        ],
        "retries": job.profile.launch.max_restarts or 1,  # Volcano takes 0 for not given, and 3
        "on_failure": "RestartJob" if job.profile.launch.max_restarts else "TerminateJob",
        "queue": job.settings.queue,
    }


def _torchx(job: ClusterJob, at: int) -> dict[str, str]:
    """The labels by which TorchX users select pods."""
    return {
        "torchx.pytorch.org/app-name": job.name,
        "torchx.pytorch.org/role-index": "0",
        "torchx.pytorch.org/role-name": ROLE,
        "torchx.pytorch.org/replica-id": str(at),
    }


def _read(thing: Thing) -> Status:
    state = (thing.get("status") or {}).get("state") or {}
    phase = str(state.get("phase") or "Pending")
    found = _STATES.get(phase, "unknown")
    why = str(state.get("message") or state.get("reason") or "")
    return Status(found, phase, why if found in ("failed", "pending") else "")


LAUNCHER = Kind(
    "vcjob",
    ("batch.volcano.sh/v1alpha1", "Job"),
    f"{program()} volcano.create",
    _fill,
    _first_pod,
    lambda job: [f"{job.run_id}-{ROLE}-{at}-0" for at in range(job.nodes)],
    _read,
    gang=True,
    controller=("volcano-system", "volcano"),
)
