"""What a run's pods may do on their node: nothing that the Pod Security Standards forbid, and in a
restricted namespace nothing of root's."""

from __future__ import annotations

from typing import Any

from playrunner.training.kube.session import ClusterSettings

RESTRICTED, NONE = "restricted", "none"
POD_SECURITY = "violates PodSecurity"  # an API server's words


def pod_security(settings: ClusterSettings) -> dict[str, Any]:
    if settings.security == NONE:
        return {}
    profile: dict[str, Any] = {"seccompProfile": {"type": "RuntimeDefault"}}
    if settings.security != RESTRICTED:
        return profile
    # fsGroup: volumes that know owners are given to the group
    user = settings.user
    return {**profile, "runAsNonRoot": True, "runAsUser": user, "runAsGroup": user, "fsGroup": user}


def container_security(settings: ClusterSettings) -> dict[str, Any]:
    if settings.security == NONE:
        return {}
    if settings.security != RESTRICTED:
        return {"allowPrivilegeEscalation": False}
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def home(settings: ClusterSettings) -> dict[str, str]:
    """An image knows no home of a user that it was not made for."""
    return {"HOME": "/tmp"} if settings.security == RESTRICTED else {}
