"""The apiVersion that is meant when only a kind is given."""

from __future__ import annotations

_VERSIONS = {
    "apps/v1": ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet"),
    "batch/v1": ("Job", "CronJob"),
    "apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
    "apiregistration.k8s.io/v1": ("APIService",),
    "storage.k8s.io/v1": ("StorageClass", "CSIDriver"),
    "discovery.k8s.io/v1": ("EndpointSlice",),
    "rbac.authorization.k8s.io/v1": ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"),
    "policy/v1": ("PodDisruptionBudget",),
    "networking.k8s.io/v1": ("Ingress", "NetworkPolicy"),
}
_BY_KIND = {kind: version for version, kinds in _VERSIONS.items() for kind in kinds}


def api_version_of(kind: str) -> str:
    return _BY_KIND.get(kind, "v1")


def selector_text(selector: object) -> str:
    """Labels as a mapping, or as kubectl takes them."""
    if isinstance(selector, dict):
        return ",".join(f"{key}={value}" for key, value in selector.items())
    return str(selector or "")
