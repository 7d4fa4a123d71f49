"""deepspeedjob: an Indexed Job whose first pod starts the ranks on all over SSH, by a hostfile,
with keys of this run only."""

from __future__ import annotations

from typing import Any

from playrunner.training.kube.job_spec.command import trainer_words
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.pod import pod_metadata, pod_spec
from playrunner.training.kube.job_spec.ssh_keys import MOUNT, secret_name
from playrunner.training.kube.launchers.job import first_pod, pods, read
from playrunner.training.kube.launchers.kind import Kind

GROUP = 1000  # a Secret's files are root's; other users of an image read them by this group


def _fill(job: ClusterJob) -> dict[str, Any]:
    arguments = [
        "--over-ssh",
        f"--name={job.run_id}",
        f"--nodes={job.nodes}",
        f"--slots={job.share.processes}",
        f"--port={job.settings.port}",
        f"--keys={MOUNT}",
        *trainer_words(job),
    ]
    pod = pod_spec(job, arguments, "JOB_COMPLETION_INDEX=0", "Never")
    (container,) = pod["containers"]
    container["volumeMounts"].append({"name": "keys", "mountPath": MOUNT, "readOnly": True})
    pod["volumes"].append(
        {"name": "keys", "secret": {"secretName": secret_name(job.run_id), "defaultMode": 0o600}}
    )
    own = {"fsGroup": GROUP, "fsGroupChangePolicy": "OnRootMismatch"}
    pod["securityContext"] = {**own, **pod.get("securityContext", {})}
    # A pod that ended is replaced; the first one, which ends with any that fails, then starts all
    # ranks again.
    return {
        "pod": {"metadata": pod_metadata(job), "spec": {**pod, "subdomain": job.run_id}},
        "retries": job.profile.launch.max_restarts * job.nodes,
    }


LAUNCHER = Kind(
    "deepspeedjob",
    ("batch/v1", "Job"),
    "",
    _fill,
    first_pod,
    pods,
    read,
    over_ssh=True,
    headless=True,
    template="job",
)
