"""What a pod's status says of its containers."""

from __future__ import annotations

from playrunner.sandbox import state
from tests.support.kube.moving import Cluster, Object


def state(cluster: Cluster, name: str) -> Object:
    """Of the pod's first container: its status."""
    found: Object = (
        (cluster.get("pods", name) or {}).get("status", {}).get("containerStatuses") or [{}]
    )[0]
    return found


def waiting(cluster: Cluster, name: str) -> Object:
    """Why the pod's first container waits."""
    found: Object = state(cluster, name).get("state", {}).get("waiting") or {}
    return found
