"""A run's pod is tried on the API server before its job is submitted: operators tell late what is
wrong in it, if at all."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.optional import if_allowed
from playrunner.kube.client.resource import Resource
from playrunner.kube.watch.explain import PODS
from playrunner.kube.watch.reasons import refusal
from playrunner.project import program
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.node_capacity import amount
from playrunner.training.kube.job_spec.security import POD_SECURITY, RESTRICTED
from playrunner.training.kube.launchers import KINDS
from playrunner.training.request import LaunchRefused

QUOTAS = Resource("v1", "ResourceQuota", "resourcequotas", True)
# A webhook's answer, and it may refuse pods without an owner
_WEBHOOK = "denied the request"
_OWN = "ask who runs the cluster"
# Words of a rule, and what helps
_REMEDIES = (
    (
        POD_SECURITY,
        "train_security: restricted in the inventory fits the strictest standard; train_user says"
        " as whom the image runs",
    ),
    (
        "exceeded quota",
        "use fewer --nodes, end other runs, or have the quota raised: kubectl"
        " describe resourcequota",
    ),
    (
        "failed quota",
        "say what it misses in the inventory, as train_resources: {cpu: 8, memory:"
        " 64Gi, ephemeral-storage: 50Gi}",
    ),
    (
        " usage per ",
        "a LimitRange bounds pods here (kubectl describe limitrange): set"
        " train_resources: {cpu: 8, memory: 64Gi} in the inventory within it",
    ),
    (
        "PriorityClass",
        "train_priority_class names one that the cluster has: kubectl get priorityclasses",
    ),
    (
        "service account",
        f"train_service_account names one that the namespace has; {program()}"
        " service-accounts.create makes those of eks_service_accounts",
    ),
    (
        "ValidatingAdmissionPolicy",
        "the cluster's own policy says so: kubectl get validatingadmissionpolicies",
    ),
)


def try_pod(kube: Kube, job: ClusterJob, replacing: bool = False) -> ClusterJob:
    """By a dry run, which makes nothing: the job with pods that the namespace admits. What the
    pod's own rules refuse is refused here in their words; a missing right concerns the controller
    that creates the pods."""
    try:
        kube.apply(PODS, pod_of(job), force=True, dry=True)
    except KubeError as error:
        if POD_SECURITY in error.message and job.settings.security == "auto":
            return try_pod(
                kube, replace(job, settings=replace(job.settings, security=RESTRICTED)), replacing
            )
        _refuse(job, error)
    for text in kube.cluster.take_warnings():
        print(f"warning: the API server warns of a pod as {job.name}'s: {text}", file=sys.stderr)
    if not replacing:  # what the run that leaves holds is still counted
        _refuse_beyond_quota(kube, job)
    return job


def _refuse(job: ClusterJob, error: KubeError) -> None:
    if error.forbidden:
        return
    if _WEBHOOK in error.message:
        print(
            f"warning: a pod as {job.name}'s, tried without its job: {refusal(error)}",
            file=sys.stderr,
        )
    elif error.invalid:
        raise LaunchRefused(
            f"a pod as {job.name}'s would be refused: {refusal(error)}; fix what the inventory"
            " says of pods (train_tolerations, train_node_selector, train_environment,"
            " train_image); nothing was submitted"
        ) from None
    elif error.status == 403:
        remedy = next((text for words, text in _REMEDIES if words in error.message), _OWN)
        raise LaunchRefused(
            f"namespace {job.settings.namespace} does not admit a pod as {job.name}'s:"
            f" {error.message}; {remedy}; nothing"
            " was submitted"
        ) from None


def _refuse_beyond_quota(kube: Kube, job: ClusterJob) -> None:
    """One pod may be within a quota that all of them are beyond."""
    quotas = if_allowed(lambda: kube.listing(QUOTAS, job.settings.namespace).items, [])
    share = job.share
    wanted = {"pods": 1.0, "count/pods": 1.0}
    for kind, each in (
        ("requests", {**dict(share.requests), **dict(share.resources)}),
        ("limits", {**dict(share.limits), **dict(share.resources)}),
    ):
        wanted |= {f"{kind}.{name}": amount(value) for name, value in each.items()}
        if kind == "requests":
            wanted |= {name: amount(value) for name, value in each.items()}
    for quota in quotas:
        spec, status = quota.get("spec") or {}, quota.get("status") or {}
        if spec.get("scopes") or spec.get("scopeSelector"):
            continue  # it counts some pods only
        used = status.get("used") or {}
        for name, hard in (status.get("hard") or spec.get("hard") or {}).items():
            left = amount(hard) - amount(used.get(name, 0))
            if name in wanted and job.nodes * wanted[name] > left:
                raise LaunchRefused(
                    f"quota {quota['metadata']['name']} of namespace {job.settings.namespace} has"
                    f" {name}: {used.get(name, 0)} of {hard} used, and {job.nodes} pods ask for"
                    f" {job.nodes} x {_asked(job, name)}; use fewer --nodes, end other runs"
                    f" ({program()} train.status), or have it raised; nothing was submitted"
                )


def _asked(job: ClusterJob, name: str) -> str:
    share, plain = job.share, name.removeprefix("requests.").removeprefix("limits.")
    limited = {**dict(share.limits), **dict(share.resources)}
    asked = {**dict(share.requests), **dict(share.resources)}
    return (limited if name.startswith("limits.") else asked).get(plain, "1")


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
