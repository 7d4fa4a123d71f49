"""The order in which the objects of a set are made; they go in the reverse order."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Protocol, TypeVar

_RANKS = (
    ("Namespace",),
    ("CustomResourceDefinition",),
    ("ServiceAccount", "Role", "ClusterRole"),
    ("RoleBinding", "ClusterRoleBinding"),
    (
        "ConfigMap",
        "Secret",
        "StorageClass",
        "CSIDriver",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "PriorityClass",
        "RuntimeClass",
        "ResourceQuota",
        "LimitRange",
        "NetworkPolicy",
        "PodDisruptionBudget",
    ),
    ("Service", "Endpoints", "EndpointSlice", "Ingress", "IngressClass"),
    (
        "Deployment",
        "DaemonSet",
        "StatefulSet",
        "ReplicaSet",
        "Job",
        "CronJob",
        "Pod",
        "HorizontalPodAutoscaler",
    ),
)
_BY_KIND = {kind: rank for rank, kinds in enumerate(_RANKS) for kind in kinds}
CUSTOM = len(_RANKS)  # all other objects: those of custom kinds
_LAST = {
    "MutatingWebhookConfiguration": CUSTOM + 1,
    "ValidatingWebhookConfiguration": CUSTOM + 1,
    "APIService": CUSTOM + 1,
    "ValidatingAdmissionPolicy": CUSTOM + 1,
    "ValidatingAdmissionPolicyBinding": CUSTOM + 1,
}
_CORE_GROUPS = ("", "apps", "batch", "autoscaling", "policy")


class HasKind(Protocol):
    @property
    def api_version(self) -> str: ...
    @property
    def kind(self) -> str: ...


One = TypeVar("One", bound=HasKind)


def rank(one: HasKind) -> int:
    group = one.api_version.rpartition("/")[0]
    ours = group in _CORE_GROUPS or group.endswith(".k8s.io")  # a Job of Volcano's is not a Job
    return _BY_KIND.get(one.kind, _LAST.get(one.kind, CUSTOM)) if ours else CUSTOM


def ranked(things: Iterable[One], backwards: bool = False) -> list[list[One]]:
    """In groups, of which each is done side by side before the next is begun."""
    ordered = sorted(things, key=rank, reverse=backwards)
    return [list(group) for _, group in groupby(ordered, key=rank)]
