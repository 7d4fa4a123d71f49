"""Empty a node: its pods are asked to go elsewhere, as far as disruption budgets let them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playrunner.hostside.module import Failed
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.watch.explain import PODS
from playrunner.kube.watch.watch import Collection, Objects, key_of, watch_until

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
_MIRROR = "kubernetes.io/config.mirror"


def movable(kube: Kube, node: str) -> list[dict[str, Any]]:
    """The pods that draining is about: not those that belong to the node itself, nor those that are
    done."""
    return [pod for pod in kube.listing(PODS, fields=f"spec.nodeName={node}").items if moves(pod)]


def moves(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is one that draining is about."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    owner = _controller(pod)
    return (
        _MIRROR not in (pod["metadata"].get("annotations") or {})
        and (owner or {}).get("kind") != "DaemonSet"
    )


def objection(pods: Sequence[Mapping[str, Any]], lone: bool, scratch: bool) -> str:
    """Why these pods must not be evicted by default: no controller creates them again, or their
    data is deleted with them."""
    for pod in pods:
        meta, volumes = pod["metadata"], pod.get("spec", {}).get("volumes") or ()
        name = f"{meta['namespace']}/{meta['name']}"
        if not lone and not _controller(pod):
            return (
                f"pod {name} belongs to no controller, so it is not created again elsewhere;"
                " allow it with lone_pods: true"
            )
        if not scratch and any("emptyDir" in volume for volume in volumes):
            return (
                f"pod {name} keeps data in an emptyDir, which goes with it; allow it with"
                " empty_dirs: true"
            )
    return ""


def drain(
    kube: Kube,
    node: str,
    pods: Sequence[dict[str, Any]],
    grace: int | None,
    seconds: float,
    progress: Callable[[str], None],
) -> None:
    """Evict these and wait until they are gone; a budget that forbids it is waited for until the
    time is over."""
    deadline, pause = time.monotonic() + seconds, FIRST_PAUSE
    version = "policy/v1" if kube.resource("policy/v1", "PodDisruptionBudget") else "policy/v1beta1"
    left, refused = list(pods), ""
    while left:
        held = []
        for pod in left:
            refusal = _evicted(kube, pod, version, grace)
            if refusal:
                held.append(pod)
                refused = refusal
        left = held
        if left:
            if time.monotonic() > deadline:
                names = ", ".join(key_of(pod)[1] for pod in left[:5])
                raise Failed(
                    f"node {node} is not empty after {seconds:g} seconds: {names} must stay:"
                    f" {refused}; see: kubectl get poddisruptionbudgets -A"
                )
            progress(f"{len(left)} pods must stay for now: {refused}")
            kube.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
    _until_gone(kube, node, pods, max(0.1, deadline - time.monotonic()), progress)


def _evicted(kube: Kube, pod: Mapping[str, Any], version: str, grace: int | None) -> str:
    """Empty when it goes; otherwise why it must not yet."""
    meta = pod["metadata"]
    body = {
        "apiVersion": version,
        "kind": "Eviction",
        "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
        "deleteOptions": {
            "preconditions": {"uid": meta.get("uid")},
            **({} if grace is None else {"gracePeriodSeconds": grace}),
        },
    }
    try:
        kube.call(
            "POST", f"{PODS.path(meta['namespace'], meta['name'])}/eviction", body, patient=False
        )
    except KubeError as error:
        if error.not_found or error.status == 409:
            return ""  # gone, or another pod of the same name by now
        if error.status == 429 or (error.status == 500 and "disruption" in error.message):
            return error.message
        raise
    return ""


def _until_gone(
    kube: Kube,
    node: str,
    pods: Sequence[Mapping[str, Any]],
    seconds: float,
    progress: Callable[[str], None],
) -> None:
    home = Collection(PODS, fields=f"spec.nodeName={node}")
    uids = {pod["metadata"].get("uid") for pod in pods}

    def judge(seen: dict[Collection, Objects]) -> str:
        there = [
            pod["metadata"]["name"]
            for pod in seen[home].values()
            if pod["metadata"].get("uid") in uids
        ]
        return f"{', '.join(there[:5])} still going" if there else ""

    missing = watch_until(kube, [home], judge, seconds, progress)
    if missing:
        raise Failed(
            f"node {node} is not empty in time: {missing};"
            f" see: kubectl get pods -A --field-selector spec.nodeName={node}"
        )


def _controller(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next(
        (
            owner
            for owner in pod["metadata"].get("ownerReferences") or ()
            if owner.get("controller")
        ),
        None,
    )
