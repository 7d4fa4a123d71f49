"""A cluster with the three operators installed, for tests: the API, the controllers, and what roles
would have applied."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest

from playrunner.sandbox.kube.controllers.framework.resources import Resource
from playrunner.sandbox.kube.operators import installed, kinds
from playrunner.sandbox.kube.operators.installed import Operator
from playrunner.sandbox.kube.process import process
from tests.support.kube.client import MERGE_PATCH, Client
from tests.support.kube.operator_jobs import Object
from tests.support.until import until

IMAGES = {
    installed.TRAINING_OPERATOR: "ghcr.io/kubeflow/training-v1/training-operator:v1-93c5489",
    installed.ELASTIC_JOB_CONTROLLER: "torchelastic/kubernetes:0.1.0",
    installed.VOLCANO_CONTROLLERS: "volcanosh/vc-controller-manager:v1.15.1",
    installed.VOLCANO_SCHEDULER: "volcanosh/vc-scheduler:v1.15.1",
}
_WITH_STATUS = (kinds.PYTORCH_JOBS, kinds.VOLCANO_JOBS, kinds.QUEUES)
_WITHOUT_STATUS = (kinds.ELASTIC_JOBS, kinds.POD_GROUPS, kinds.COMMANDS)
# Its controllers do nothing before they find it.
_AWAITED = Resource(
    "config.volcano.sh",
    "v1alpha1",
    "colocationconfigurations",
    "ColocationConfiguration",
    custom=True,
)
_numbers = count(1)
T = TypeVar("T")


class Cluster:
    """One that runs; each test has a namespace of its own in it."""

    def __init__(self, client: Client, folder: Path, namespace: str = "default") -> None:
        """`folder` is where its controllers keep their things."""
        self.client, self.folder, self.namespace = client, folder, namespace

    def create(self, obj: Object) -> Object:
        """In this namespace, where its kind has one."""
        metadata = {name: value for name, value in obj["metadata"].items() if name != "uid"}
        if obj["kind"] not in ("Namespace", "Queue", "Node") and not obj["kind"].endswith(
            ("Definition", "Configuration")
        ):
            metadata["namespace"] = (
                self.namespace
                if metadata.get("namespace", "default") == "default"
                else metadata["namespace"]
            )
        within = metadata.get("namespace", "")
        return dict(
            self.client.ok(
                "POST",
                _path(obj["apiVersion"], _plural(obj["kind"]), within),
                {**obj, "metadata": metadata},
            )
        )

    def get(
        self, version: str, plural: str, name: str, namespace: str | None = None
    ) -> Object | None:
        answer = self.client.call(
            "GET", f"{_path(version, plural, self._within(namespace))}/{name}"
        )
        return answer.value if answer.code == 200 else None

    def list(
        self, version: str, plural: str, namespace: str | None = None, **query: Any
    ) -> list[Object]:
        return list(
            self.client.ok("GET", _path(version, plural, self._within(namespace)), **query)["items"]
        )

    def pods(self) -> dict[str, Object]:
        return {one["metadata"]["name"]: one for one in self.list("v1", "pods")}

    def merge(
        self, version: str, plural: str, name: str, patch: Object, namespace: str | None = None
    ) -> None:
        self.client.ok(
            "PATCH",
            f"{_path(version, plural, self._within(namespace))}/{name}",
            patch,
            form=MERGE_PATCH,
        )

    def delete(
        self, version: str, plural: str, name: str, namespace: str | None = None, **options: Any
    ) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            **options,
        }
        self.client.call(
            "DELETE", f"{_path(version, plural, self._within(namespace))}/{name}", body
        )

    def evict(self, pod: str) -> None:
        eviction = {"kind": "Eviction", "metadata": {"name": pod, "namespace": self.namespace}}
        path = f"{_path('v1', 'pods', self.namespace)}/{pod}/eviction"
        if self.client.call("POST", path, {"apiVersion": "policy/v1", **eviction}).code == 400:
            self.client.ok(
                "POST", path, {"apiVersion": "policy/v1beta1", **eviction}
            )  # before 1.22

    def log(self, pod: str) -> str:
        return str(self.client.ok("GET", f"{_path('v1', 'pods', self.namespace)}/{pod}/log"))

    def events(self, name: str) -> dict[str, str]:
        """What was said of an object: the message by its reason."""
        told = self.list("v1", "events")
        return {
            one["reason"]: one["message"] for one in told if one["involvedObject"]["name"] == name
        }

    def awaited(self, look: Callable[[], T], what: str = "it") -> T:
        """What a look gives once it gives anything."""
        return until(look, what=lambda: f"{what}: {self._scene()}")

    def condition(self, version: str, plural: str, name: str) -> str:
        """The state that people read: the type of the last condition."""
        conditions = ((self.get(version, plural, name) or {}).get("status") or {}).get(
            "conditions"
        ) or [{}]
        return str(conditions[-1].get("type", ""))

    def phase(self, name: str) -> str:
        """Of a Volcano job."""
        status = (self.get("batch.volcano.sh/v1alpha1", "jobs", name) or {}).get("status") or {}
        return str((status.get("state") or {}).get("phase", ""))

    def operator_pods(self, operator: Operator) -> list[Object]:
        found = self.list("v1", "pods", operator.namespace)
        return [one for one in found if one["metadata"]["name"].startswith(operator.deployment)]

    def operator_is_ready(self, operator: Operator) -> bool:
        found = self.get("apps/v1", "deployments", operator.deployment, operator.namespace) or {}
        return bool((found.get("status") or {}).get("readyReplicas"))

    def install(self, operator: Operator, image: str, arguments: tuple[str, ...] = ()) -> None:
        """Its Deployment, as a role would make it."""
        namespace = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": operator.namespace},
        }
        self.client.call("POST", "/api/v1/namespaces", namespace)
        labels = {"app": operator.deployment}
        container = {"name": "manager", "image": image, "args": list(arguments)}
        spec = {"terminationGracePeriodSeconds": 1, "containers": [container]}
        template = {"metadata": {"labels": labels}, "spec": spec}
        self.create({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": operator.deployment, "namespace": operator.namespace},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        })  # fmt: skip

    def _within(self, namespace: str | None) -> str:
        return self.namespace if namespace is None else namespace

    def _scene(self) -> str:
        """Enough to understand a failure."""
        pods = {name: (one.get("status") or {}).get("phase") for name, one in self.pods().items()}
        events = [
            f"{one['involvedObject']['name']} {one['reason']}: {one['message']}"
            for one in self.list("v1", "events")
        ]
        return f"pods {pods}; events {events}"


@pytest.fixture(scope="session")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster, with every operator ready."""
    with cluster_with(definition, tmp_path_factory.mktemp("operated") / "sandbox") as cluster:
        yield cluster


@contextmanager
def cluster_with(definition_of: Callable[[Resource], Object], root: Path) -> Iterator[Cluster]:
    """A cluster of its own with these definitions of the operators' kinds, every operator ready."""
    try:
        kube = process.up(
            root, pretend=os.environ.get("PLAYRUNNER_TEST_KUBE") != "real", moving=True
        )
        cluster = Cluster(Client(Path(kube.kubeconfig)), process.folder(root))
        for resource in (*_WITH_STATUS, *_WITHOUT_STATUS):
            cluster.create(definition_of(resource))
        cluster.create(definition(_AWAITED))
        for operator, image in IMAGES.items():
            cluster.install(operator, image)
        for operator in IMAGES:
            cluster.awaited(
                lambda operator=operator: cluster.operator_is_ready(operator), operator.deployment
            )  # type: ignore[misc]
        cluster.awaited(
            lambda: cluster.get("scheduling.volcano.sh/v1beta1", "queues", "default", ""),
            "the default queue",
        )
        yield cluster
    finally:
        process.down(root)


@pytest.fixture
def place(operated: Cluster) -> Iterator[Cluster]:
    """The cluster, with an empty namespace for the test."""
    name = f"test-{next(_numbers)}"
    operated.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield Cluster(operated.client, operated.folder, name)
    operated.delete("v1", "namespaces", name, "")


def definition(resource: Resource) -> Object:
    """The shortest that will do."""
    kind = resource.kind
    names = {
        "kind": kind,
        "plural": resource.plural,
        "singular": kind.lower(),
        "listKind": f"{kind}List",
    }
    scale = {"specReplicasPath": ".spec.pytorchReplicaSpecs.Worker.replicas",
             "statusReplicasPath": ".status.replicaStatuses.Worker.active",
             "labelSelectorPath": ".status.replicaStatuses.Worker.selector"}  # fmt: skip
    subresources: Object = {"status": {}} if resource in _WITH_STATUS else {}
    if resource == kinds.PYTORCH_JOBS:
        subresources["scale"] = scale
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        **({"subresources": subresources} if subresources else {}),
        "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.definition},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _path(version: str, plural: str, namespace: str) -> str:
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def _plural(kind: str) -> str:
    return f"{kind.lower()[:-1]}ies" if kind.endswith("y") else f"{kind.lower()}s"
