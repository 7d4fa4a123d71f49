"""jobset: a JobSet of one Indexed Job; a pod that fails has all of them created again, and one that
its node drove off does not count against the restarts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.project import program
from playrunner.training.kube.job_spec.command import endpoint, torchrun_flags, trainer_words
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.pod import pod_metadata, pod_spec
from playrunner.training.kube.launchers.kind import Kind, Status, Thing

GROUP = "node"  # the name of the replicated job


def _first_pod(job: ClusterJob) -> str:
    return f"{job.run_id}-{GROUP}-0-0.{job.run_id}"


def _fill(job: ClusterJob) -> dict[str, Any]:
    arguments = [*torchrun_flags(job, endpoint(job, _first_pod(job))), *trainer_words(job)]
    return {
        "pod": {
            "metadata": pod_metadata(job),
            "spec": pod_spec(job, arguments, "JOB_COMPLETION_INDEX=0", "Never"),
        },
        "group": GROUP,
        "retries": job.profile.launch.max_restarts,
    }


def status_reader(ended: str, counted: str) -> Callable[[Thing], Status]:
    """Reads the conditions of a set of jobs: `ended` is the one of success, `counted` the field
    with the counts of each job."""

    def read(thing: Thing) -> Status:
        status = thing.get("status") or {}
        held = {
            str(condition.get("type")): condition
            for condition in status.get("conditions") or ()
            if str(condition.get("status")) == "True"
        }
        if "Failed" in held:
            why = held["Failed"]
            text = f"{why.get('reason', '')}: {why.get('message', '')}".strip(": ")
            return Status("failed", "Failed", text)
        if ended in held:
            return Status("finished", ended)
        if "Suspended" in held:
            return Status("pending", "Suspended")
        if "Restarting" in held:
            return Status("running", "Restarting")
        counts = status.get(counted) or ()
        if counts and all(int(count.get("ready") or 0) for count in counts):
            return Status("running", "Ready")
        active = any(int(count.get("active") or 0) for count in counts)
        return Status("pending", "Active" if active else "Created")

    return read


LAUNCHER = Kind(
    "jobset",
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    f"{program()} jobset.create",
    _fill,
    _first_pod,
    lambda job: [f"{job.run_id}-{GROUP}-0-{at}" for at in range(job.nodes)],
    status_reader("Completed", "replicatedJobsStatus"),
    queued=True,
    controller=("jobset-system", "jobset"),
)
