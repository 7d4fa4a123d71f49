"""What a pod runs: torchrun around the trainer, begun by the start program; the same words for
every launcher."""

from __future__ import annotations

from playrunner.training.kube.job_spec.job import ClusterJob

FILES = "/etc/playrunner"  # where pods see the run's ConfigMap
START, PROFILE, CODE = "start.py", "profile.yaml", "code.tar.gz"
# How soon the others resume without a pod: it counts as lost after three missed heartbeats, and
# further pods then have the last call's seconds to join.
_MEETING = "join_timeout=900,last_call_timeout=5,keep_alive_interval=2,keep_alive_max_attempt=3"


def start_command(job: ClusterJob) -> list[str]:
    return [job.settings.python, "-u", f"{FILES}/{START}"]


def node_count(job: ClusterJob) -> str:
    return f"{job.elastic[0]}:{job.elastic[1]}" if job.elastic else str(job.nodes)


def torchrun_flags(job: ClusterJob, endpoint: str) -> list[str]:
    """Where the nodes meet and how many they are; torchrun's own PET_ variables would be overruled
    by these."""
    return [
        f"--nnodes={node_count(job)}",
        f"--nproc_per_node={job.share.processes}",
        *meeting_flags(job, endpoint),
        f"--rdzv_id={job.run_id}",
        *common_flags(job),
    ]


def meeting_flags(job: ClusterJob, endpoint: str) -> list[str]:
    return [f"--rdzv_backend={job.settings.rendezvous}", f"--rdzv_endpoint={endpoint}"]


def common_flags(job: ClusterJob) -> list[str]:
    conf = [f"--rdzv_conf={_MEETING}"] if job.settings.rendezvous == "c10d" else []
    return [*conf, f"--max_restarts={job.profile.launch.max_restarts}", "--tee=3"]


def restart_policy(job: ClusterJob) -> str:
    """Of pods that an operator keeps: their node restarts them, unless the first failure is to end
    the run."""
    return "OnFailure" if job.profile.launch.max_restarts else "Never"


def trainer_words(job: ClusterJob) -> list[str]:
    if job.profile.script:
        words = [job.work, job.profile.script, *job.profile.args]
        return ["-m", "trainer.script", *map(literal, words)]
    return ["-m", "trainer", "--profile", f"{FILES}/{PROFILE}", "--output", job.output]


def literal(text: str) -> str:
    """As Kubernetes leaves it: `$(NAME)` in a pod's arguments and values would be replaced."""
    return text.replace("$", "$$")


def endpoint(job: ClusterJob, first_pod: str) -> str:
    """Where the pods meet: at the first one, or in etcd."""
    return (
        job.settings.etcd
        if job.settings.rendezvous == "etcd"
        else f"{first_pod}:{job.settings.port}"
    )
