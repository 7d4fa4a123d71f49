"""The Jobs and the headless Service of a JobSet: names, labels, and which attempt they belong
to."""

from __future__ import annotations

import copy
import hashlib
from typing import Any

from playrunner.sandbox.kube.controllers.framework.pods import condition
from playrunner.sandbox.kube.controllers.framework.resources import Object, labels_of, owned

PREFIX = "jobset.sigs.k8s.io"
NAME = f"{PREFIX}/jobset-name"
REPLICATED = f"{PREFIX}/replicatedjob-name"
ATTEMPT = f"{PREFIX}/restart-attempt"


def replicated_jobs(job_set: Object) -> list[Object]:
    return list(job_set["spec"].get("replicatedJobs") or ())


def replicas(replicated: Object) -> int:
    return int(replicated.get("replicas", 1))


def job_name(job_set: Object, replicated: Object, index: int) -> str:
    return f"{job_set['metadata']['name']}-{replicated['name']}-{index}"


def subdomain(job_set: Object) -> str:
    """Empty where its pods want no names."""
    network = job_set["spec"].get("network") or {}
    if not network.get("enableDNSHostnames", True):
        return ""
    return str(network.get("subdomain") or job_set["metadata"]["name"])


def attempt(job: Object) -> int:
    return int(labels_of(job).get(ATTEMPT) or 0)


def outcome(job: Object) -> str:
    """`Complete`, `Failed`, or nothing while it goes on."""
    kinds = ("Complete", "Failed")
    return next((kind for kind in kinds if condition(job, kind) == "True"), "")


def job_of(job_set: Object, replicated: Object, index: int, restarts: int) -> Object:
    template = copy.deepcopy(replicated["template"])
    marks = _marks(job_set, replicated, index, restarts)
    spec = template.get("spec") or {}
    pod = spec.setdefault("template", {})
    pod["metadata"] = _marked(pod.get("metadata") or {}, marks)
    if subdomain(job_set):
        pod.setdefault("spec", {})["subdomain"] = subdomain(job_set)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            **_marked(template.get("metadata") or {}, marks),
            "name": job_name(job_set, replicated, index),
            "namespace": job_set["metadata"]["namespace"],
            "ownerReferences": owned(job_set),
        },
        "spec": {**spec, "suspend": bool(job_set["spec"].get("suspend"))},
    }


def service_of(job_set: Object) -> Object:
    network = job_set["spec"].get("network") or {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": subdomain(job_set),
            "namespace": job_set["metadata"]["namespace"],
            "ownerReferences": owned(job_set),
        },
        "spec": {
            "clusterIP": "None",
            "selector": {NAME: job_set["metadata"]["name"]},
            "publishNotReadyAddresses": network.get("publishNotReadyAddresses", True),
        },
    }


def _marks(job_set: Object, replicated: Object, index: int, restarts: int) -> dict[str, str]:
    """Labels of a Job and its pods, which are annotations, too."""
    every = replicated_jobs(job_set)
    before = every[: every.index(replicated)]
    group = replicated.get("groupName") or "default"
    mates = [mate for mate in every if (mate.get("groupName") or "default") == group]
    meta = job_set["metadata"]
    key = f"{meta['namespace']}/{job_name(job_set, replicated, index)}"
    marks: dict[str, Any] = {
        "jobset-name": meta["name"],
        "jobset-uid": meta["uid"],
        "replicatedjob-name": replicated["name"],
        "restart-attempt": restarts,
        "replicatedjob-replicas": replicas(replicated),
        "global-replicas": sum(map(replicas, every)),
        "job-index": index,
        "job-key": hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest(),
        "job-global-index": sum(map(replicas, before)) + index,
        "group-name": group,
        "group-replicas": sum(map(replicas, mates)),
        "job-group-index": sum(replicas(mate) for mate in before if mate in mates) + index,
    }
    return {f"{PREFIX}/{name}": str(value) for name, value in marks.items()}


def _marked(metadata: Object, marks: dict[str, str]) -> Object:
    return {
        **metadata,
        "labels": {**(metadata.get("labels") or {}), **marks},
        "annotations": {**(metadata.get("annotations") or {}), **marks},
    }
