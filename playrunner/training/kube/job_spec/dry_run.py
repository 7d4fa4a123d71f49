"""A run's pod is tried on the API server before its job is submitted: operators tell late what is
wrong in it, if at all."""

from __future__ import annotations

from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.watch.explain import PODS
from playrunner.kube.watch.reasons import refusal
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.launchers import KINDS
from playrunner.training.request import LaunchRefused

# A webhook's answer, and it may refuse pods without an owner
_POLICY = "denied the request"


def try_pod(kube: Kube, job: ClusterJob) -> None:
    """By a dry run, which makes nothing. A field that no pod has is refused here, and a value that
    it cannot have; other refusals (rights, quotas, policies) concern the controller that creates
    the pods."""
    try:
        kube.apply(PODS, pod_of(job), force=True, dry=True)
    except KubeError as error:
        if error.invalid and _POLICY not in error.message:
            raise LaunchRefused(
                f"a pod as {job.name}'s would be refused: {refusal(error)}; fix what the inventory"
                " says of pods (train_tolerations, train_node_selector, train_environment,"
                " train_image); nothing was submitted"
            ) from None


def pod_of(job: ClusterJob) -> dict[str, Any]:
    """One of its pods, without its job."""
    filled = KINDS[job.launcher].fill(job)
    template = filled["tasks"][0]["pod"] if "tasks" in filled else filled["pod"]
    named = {
        **template["metadata"],
        "name": f"{job.run_id}-trial",
        "namespace": job.settings.namespace,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": template["spec"]}
