"""The pretend cluster: everything a request may touch, and what a new one holds."""

from __future__ import annotations

import ipaddress
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.sandbox.faults import Faults
from playrunner.sandbox.kube.schema.kinds import Kind, Kinds
from playrunner.sandbox.kube.store.store import Object, Store
from playrunner.sandbox.kube.wire.runtime import NoRuntime, PodRuntime

if TYPE_CHECKING:
    from playrunner.sandbox.kube.store.accounts import Accounts
    from playrunner.sandbox.kube.store.kubelet_proxy import Nodes

VERSION = {
    "major": "1",
    "minor": "33",
    "gitVersion": "v1.33.0+sandbox",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "linux/amd64",
}
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
SERVICE_RANGE = ipaddress.ip_network("10.96.0.0/16")
_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


@dataclass
class Settings:
    """What a rehearsal may turn, in seconds."""

    established: float = 0.05  # until a definition's kind is served
    pod_grace: bool = True  # pods on nodes wait for their node to end them; false: they go at once


@dataclass
class Cluster:
    """One pretend cluster."""

    runtime: PodRuntime = field(
        default_factory=NoRuntime
    )  # asked where a pod's node has no kubelet
    nodes: Nodes | None = None
    accounts: Accounts | None = None  # gives out tokens of service accounts
    certificate: tuple[Path, Path] | None = None  # and its key: what webhooks are shown
    store: Store = field(default_factory=Store)
    kinds: Kinds = field(default_factory=Kinds)
    faults: Faults = field(default_factory=Faults)
    settings: Settings = field(default_factory=Settings)
    away_until: float = 0.0  # while the server plays dead, by the monotonic clock
    calls: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=10_000))

    def __post_init__(self) -> None:
        self._seed()

    def kind(self, group: str, version: str, plural: str) -> Kind:
        found = self.kinds.find(group, version, plural)
        assert found is not None, f"{plural} is built in"
        return found

    @property
    def away(self) -> bool:
        return time.monotonic() < self.away_until

    def reset(self) -> None:
        """An empty cluster, with default settings."""
        with self.store.changed:  # readers see all of it or nothing
            for one in self.store.list(("apiextensions.k8s.io", "customresourcedefinitions"))[0]:
                self.kinds.serve_custom(one["metadata"]["name"], ())
            self.store.clear()
            self.faults.all.clear()
            self.calls.clear()
            self.settings = Settings()
            self._seed()

    def free_address(self) -> str:
        """A cluster address that no service has."""
        taken = {one["spec"].get("clusterIP") for one in self.store.list(("", "services"))[0]}
        return next(str(one) for one in SERVICE_RANGE.hosts() if str(one) not in taken)

    def free_node_port(self, besides: set[int]) -> int:
        """A port of the nodes that no service has, nor is among these."""
        services = self.store.list(("", "services"))[0]
        taken = besides | {
            port.get("nodePort") for one in services for port in one["spec"].get("ports", ())
        }
        return next(port for port in range(30000, 32768) if port not in taken)

    def _seed(self) -> None:
        for name in NAMESPACES:
            body = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
            self._put("", "v1", "namespaces", "", name, body, {"kubernetes.io/metadata.name": name})
            self._put("", "v1", "serviceaccounts", name, "default", {})
        ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]
        first = str(next(SERVICE_RANGE.hosts()))
        spec = {
            "clusterIP": first,
            "clusterIPs": [first],
            "ports": ports,
            "type": "ClusterIP",
            "sessionAffinity": "None",
        }
        self._put(
            "",
            "v1",
            "services",
            "default",
            "kubernetes",
            {"spec": spec},
            {"component": "apiserver", "provider": "kubernetes"},
        )
        for name, value in _PRIORITIES.items():
            body = {"value": value, "preemptionPolicy": "PreemptLowerPriority"}
            self._put("scheduling.k8s.io", "v1", "priorityclasses", "", name, body)
        everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        for name in ("cluster-admin", "admin", "edit", "view"):
            self._put(
                "rbac.authorization.k8s.io", "v1", "clusterroles", "", name, {"rules": everything}
            )

    def _put(
        self,
        group: str,
        version: str,
        plural: str,
        namespace: str,
        name: str,
        body: Object,
        labels: dict[str, str] | None = None,
    ) -> None:
        kind = self.kind(group, version, plural)
        metadata: dict[str, Any] = {
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "uid": new_uid(),
            "creationTimestamp": now(),
        }
        if labels:
            metadata["labels"] = labels
        one = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}
        self.store.put(kind.stored_as, (namespace, name), None, one)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_uid() -> str:
    return str(uuid.uuid4())
