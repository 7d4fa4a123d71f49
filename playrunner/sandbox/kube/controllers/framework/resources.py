"""The kinds that controllers look at, and where the API has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
Key = tuple[str, str]  # namespace (empty for what has none) and name


@dataclass(frozen=True)
class Resource:
    """A kind as the API serves it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    custom: bool = False  # served only once its definition is there

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def definition(self) -> str:
        """The name of the definition that makes it served."""
        return f"{self.plural}.{self.group}"

    def path(self, namespace: str = "", name: str = "", part: str = "") -> str:
        """Of one, of all in a namespace, or of all; `part` is a subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = ("namespaces", namespace) if self.namespaced and namespace else ()
        return "/".join(filter(None, (root, *within, self.plural, name, part)))


def key_of(one: Object) -> Key:
    return one["metadata"].get("namespace", ""), one["metadata"]["name"]


def uid_of(one: Object) -> str:
    return str(one["metadata"]["uid"])


def labels_of(one: Object) -> dict[str, str]:
    return one["metadata"].get("labels") or {}


def annotations_of(one: Object) -> dict[str, str]:
    return one["metadata"].get("annotations") or {}


def is_leaving(one: Object) -> bool:
    return bool(one["metadata"].get("deletionTimestamp"))


def controller_of(one: Object) -> Object | None:
    """The reference to the one owner that manages it."""
    return next(
        (each for each in one["metadata"].get("ownerReferences") or () if each.get("controller")),
        None,
    )


def owned(by: Object) -> list[Object]:
    """The `ownerReferences` of something that this object manages."""
    return [
        {
            "apiVersion": by["apiVersion"],
            "kind": by["kind"],
            "name": by["metadata"]["name"],
            "uid": by["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
SERVICES = Resource("", "v1", "services", "Service")
ENDPOINTS = Resource("", "v1", "endpoints", "Endpoints")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
EVENTS = Resource("", "v1", "events", "Event")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
JOBS = Resource("batch", "v1", "jobs", "Job")
SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
STORAGE_CLASSES = Resource(
    "storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False
)
CSI_DRIVERS = Resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", namespaced=False)
DEFINITIONS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
NETWORK_POLICIES = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
