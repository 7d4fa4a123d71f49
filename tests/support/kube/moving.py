"""A cluster that moves, for tests: an API with its controllers, one for each flavour, and a
namespace for each test."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from playrunner.sandbox.kube.controllers.control import control_request
from playrunner.sandbox.kube.controllers.kubelet import mount_namespace
from playrunner.sandbox.kube.process import process, real
from tests.support.kube.client import MERGE_PATCH, Client
from tests.support.until import until

Object = dict[str, Any]
T = TypeVar("T")

_GROUPS = {
    "pods": "/api/v1",
    "services": "/api/v1",
    "endpoints": "/api/v1",
    "configmaps": "/api/v1",
    "secrets": "/api/v1",
    "persistentvolumeclaims": "/api/v1",
    "persistentvolumes": "/api/v1",
    "nodes": "/api/v1",
    "events": "/api/v1",
    "deployments": "/apis/apps/v1",
    "daemonsets": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "storageclasses": "/apis/storage.k8s.io/v1",
    "csidrivers": "/apis/storage.k8s.io/v1",
}
_EVERYWHERE = ("nodes", "persistentvolumes", "storageclasses", "csidrivers")


@dataclass(frozen=True)
class Cluster:
    """One test's place in a cluster."""

    root: Path
    api: Client
    namespace: str
    flavour: str

    def path(self, plural: str, name: str = "", part: str = "") -> str:
        within = [] if plural in _EVERYWHERE else ["namespaces", self.namespace]
        return "/".join(filter(None, [_GROUPS[plural], *within, plural, name, part]))

    def create(self, plural: str, name: str, **parts: Any) -> Object:
        labels = parts.pop("labels", {})
        made: Object = self.api.ok(
            "POST", self.path(plural), {"metadata": {"name": name, "labels": labels}, **parts}
        )
        return made

    def change(self, plural: str, name: str, patch: Object) -> Object:
        changed: Object = self.api.ok("PATCH", self.path(plural, name), patch, form=MERGE_PATCH)
        return changed

    def delete(self, plural: str, name: str, **query: Any) -> None:
        self.api.ok("DELETE", self.path(plural, name), **query)

    def get(self, plural: str, name: str) -> Object | None:
        answer = self.api.call("GET", self.path(plural, name))
        return answer.value if answer.code == 200 else None

    def all(self, plural: str, **query: Any) -> list[Object]:
        found: list[Object] = self.api.ok("GET", self.path(plural), **query)["items"]
        return found

    def pods(self, **labels: str) -> list[Object]:
        chosen = ",".join(f"{name}={value}" for name, value in labels.items())
        return self.all("pods", **({"labelSelector": chosen} if chosen else {}))

    def pod(self, name: str, *command: str, **spec: Any) -> Object:
        """A pod with one container that runs this command; parts of the container are given in
        `container`."""
        container = {
            "name": "main",
            "image": "any",
            "command": list(command),
            **spec.pop("container", {}),
        }
        labels = spec.pop("labels", {})
        spec = {
            "terminationGracePeriodSeconds": 2,
            "restartPolicy": "Never",
            "containers": [container],
            **spec,
        }
        return self.create("pods", name, labels=labels, spec=spec)

    def phase(self, name: str, *wanted: str) -> Object:
        """The pod, once it is in one of these phases."""
        return (
            until(
                lambda: self.get("pods", name),
                lambda pod: (pod or {}).get("status", {}).get("phase") in wanted,
            )
            or {}
        )

    def log(self, name: str, **query: Any) -> str:
        return str(self.api.ok("GET", self.path("pods", name, "log"), **query))

    def said(self, name: str, *command: str, **spec: Any) -> str:
        """What a pod with this command says until it ends well."""
        self.pod(name, *command, **spec)
        ended = self.phase(name, "Succeeded", "Failed")
        text = self.log(name)
        assert ended["status"]["phase"] == "Succeeded", text
        return text

    def reasons(self, name: str) -> dict[str, str]:
        """The events about an object: reason and message."""
        events = self.all("events", fieldSelector=f"involvedObject.name={name}")
        return {one["reason"]: one["message"] for one in events}

    def control(self, method: str, path: str, body: Any = None) -> Any:
        return control_request(process.folder(self.root), method, path, body)

    def kubectl(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        if shutil.which("kubectl") is None:
            pytest.skip("there is no kubectl")
        environment = {**os.environ, "KUBECONFIG": str(process.kubeconfig_file(self.root))}
        command = ["kubectl", "-n", self.namespace, *words]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, **options
        )

    def node(self, **machine: Any) -> str:
        """One more node, for this test alone: a label and a taint keep other pods away."""
        name = f"node-{uuid.uuid4().hex[:8]}"
        own = {
            "labels": {"only": self.namespace},
            "taints": [{"key": "only", "value": self.namespace, "effect": "NoSchedule"}],
        }
        self.control("POST", "nodes", {"name": name, **own, **machine})
        until(
            lambda: self.get("nodes", name),
            lambda node: bool((node or {}).get("status", {}).get("allocatable")),
        )
        return name

    def here(self) -> Object:
        """What a pod needs to run on nodes of this test alone."""
        toleration = {"key": "only", "value": self.namespace, "effect": "NoSchedule"}
        return {"nodeSelector": {"only": self.namespace}, "tolerations": [toleration]}

    def workload(self, command: list[str], **more: Any) -> Object:
        """The selector and template of a Deployment, DaemonSet or StatefulSet of pods with the
        label app=NAMESPACE."""
        labels = {"app": self.namespace}
        container = {
            "name": "main",
            "image": "any",
            "command": command,
            **more.pop("container", {}),
        }
        spec = {"terminationGracePeriodSeconds": 2, "containers": [container], **more}
        return {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        }


def raised(root: Path, *, pretend: bool) -> Iterator[Path]:
    if not mount_namespace.namespaces_allowed() and mount_namespace.name_wrapper() is None:
        pytest.skip(
            "no mount namespaces are allowed here and libnss-wrapper is not installed: pods would"
            " find no names"
        )
    try:
        process.up(root, pretend=pretend, moving=True)
        yield root
    finally:
        process.down(root)


def placed(root: Path, flavour: str) -> Iterator[Cluster]:
    """A namespace in it, for as long as a test lasts."""
    api = Client(process.kubeconfig_file(root))
    name = api.ok("POST", "/api/v1/namespaces", {"metadata": {"generateName": "t-"}})["metadata"][
        "name"
    ]
    try:
        yield Cluster(root, api, name, flavour)
    finally:
        for node in [
            one["name"]
            for one in control_request(process.folder(root), "GET", "nodes")
            if one["labels"].get("only") == name
        ]:
            control_request(process.folder(root), "DELETE", f"nodes/{node}")
        api.call("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="session")
def pretend_moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from raised(tmp_path_factory.mktemp("moving") / "sandbox", pretend=True)


@pytest.fixture(scope="session")
def real_moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if real.assets() is None:
        pytest.skip(
            "no kube-apiserver and etcd in KUBEBUILDER_ASSETS or PATH; get them with: make"
            " kube-assets"
        )
    yield from raised(tmp_path_factory.mktemp("moving") / "sandbox", pretend=False)


@pytest.fixture
def cluster(pretend_moving: Path) -> Iterator[Cluster]:
    """In the cluster of the pretend API."""
    yield from placed(pretend_moving, "pretend")


@pytest.fixture(params=["pretend", "real"])
def either(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """In the cluster of the pretend API, and in that of a real one."""
    yield from placed(request.getfixturevalue(f"{request.param}_moving"), request.param)
