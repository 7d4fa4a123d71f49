"""job: a plain Indexed Job, which every cluster runs without an operator; pods meet at index 0
through a headless Service."""

from __future__ import annotations

from typing import Any

from playrunner.training.kube.job_spec.command import endpoint, torchrun_flags, trainer_words
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.pod import pod_metadata, pod_spec
from playrunner.training.kube.launchers.kind import Kind, Status, Thing


def first_pod(job: ClusterJob) -> str:
    return f"{job.run_id}-0.{job.run_id}"


def _fill(job: ClusterJob) -> dict[str, Any]:
    arguments = [*torchrun_flags(job, endpoint(job, first_pod(job))), *trainer_words(job)]
    pod = pod_spec(job, arguments, "JOB_COMPLETION_INDEX=0", "Never")
    # A pod that ended is replaced as often as torchrun would start its processes again, for every
    # node.
    return {
        "pod": {"metadata": pod_metadata(job), "spec": {**pod, "subdomain": job.run_id}},
        "retries": job.profile.launch.max_restarts * job.nodes,
    }


def pods(job: ClusterJob) -> list[str]:
    return [f"{job.run_id}-{at}" for at in range(job.nodes)]


def read(thing: Thing) -> Status:
    status = thing.get("status") or {}
    held = {
        str(one.get("type")): one
        for one in status.get("conditions") or ()
        if str(one.get("status")) == "True"
    }
    if "Failed" in held or "FailureTarget" in held:
        why = held.get("Failed") or held["FailureTarget"]
        return Status(
            "failed", "Failed", f"{why.get('reason', '')}: {why.get('message', '')}".strip(": ")
        )
    if "Complete" in held or "SuccessCriteriaMet" in held:
        return Status("finished", "Complete")
    if "Suspended" in held:
        return Status("pending", "Suspended")
    active = int(status.get("active") or 0)
    return (
        Status("running", "Active")
        if active and status.get("ready")
        else Status("pending", "Active" if active else "Created")
    )


LAUNCHER = Kind(
    "job", ("batch/v1", "Job"), "", _fill, first_pod, pods, read, headless=True, queued=True
)
