"""The real kubectl against the pretend API and a real one: what people type works on both."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.sandbox.kube.process import process
from tests.sandbox.kube.conformance import config, deployment
from tests.support.kube.client import Client

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")


@dataclass(frozen=True)
class Kubectl:
    """kubectl in a namespace of its own, with files of its own."""

    kubeconfig: Path
    namespace: str
    folder: Path

    def __call__(self, *words: str, code: int = 0) -> str:
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)}
        command = ["kubectl", "-n", self.namespace, *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def file(self, *objects: dict[str, Any]) -> str:
        path = self.folder / "objects.yaml"
        path.write_text(yaml.safe_dump_all(objects))
        return str(path)

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "-o", "json"))


@pytest.fixture(params=["pretend", "real"])
def kubectl(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kubectl]:
    kubeconfig = process.kubeconfig_file(request.getfixturevalue(f"{request.param}_root"))
    api = Client(kubeconfig)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "kubectl-"}}
    name = api.ok("POST", "/api/v1/namespaces", body)["metadata"]["name"]
    yield Kubectl(kubeconfig, name, tmp_path)
    api.ok("DELETE", f"/api/v1/namespaces/{name}")


def test_apply_makes_changes_and_then_leaves_alone(kubectl: Kubectl) -> None:
    file = kubectl.file(deployment(replicas=2), config("conf", a="1"))
    assert kubectl("apply", "-f", file).splitlines() == [
        "deployment.apps/web created",
        "configmap/conf created",
    ]
    assert kubectl("apply", "-f", file).splitlines() == [
        "deployment.apps/web unchanged",
        "configmap/conf unchanged",
    ]
    file = kubectl.file(deployment(replicas=3), config("conf", b="2"))
    assert kubectl("apply", "-f", file).splitlines() == [
        "deployment.apps/web configured",
        "configmap/conf configured",
    ]
    assert kubectl.json("get", "cm", "conf")["data"] == {"b": "2"}
    assert kubectl.json("get", "deploy", "web")["spec"]["replicas"] == 3


def test_server_side_apply_and_its_conflicts(kubectl: Kubectl) -> None:
    kubectl(
        "apply", "--server-side", "--field-manager=one", "-f", kubectl.file(deployment(replicas=2))
    )
    file = kubectl.file(deployment(replicas=5))
    said = kubectl("apply", "--server-side", "--field-manager=two", "-f", file, code=1)
    assert 'Apply failed with 1 conflict: conflict with "one"' in said and ".spec.replicas" in said
    kubectl("apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", file)
    assert kubectl.json("get", "deploy", "web")["spec"]["replicas"] == 5


def test_diff_shows_what_would_change_and_changes_nothing(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", kubectl.file(deployment(replicas=2)))
    kubectl("diff", "-f", kubectl.file(deployment(replicas=2)))
    said = kubectl("diff", "-f", kubectl.file(deployment(replicas=4)), code=1)
    assert "-  replicas: 2" in said and "+  replicas: 4" in said
    assert kubectl.json("get", "deploy", "web")["spec"]["replicas"] == 2


def test_a_misspelled_field_is_found_before_anything_is_sent(kubectl: Kubectl) -> None:
    body = {**config("conf"), "dta": {"a": "b"}}
    assert 'unknown field "dta"' in kubectl("apply", "-f", kubectl.file(body), code=1)


def test_explain_knows_the_fields(kubectl: Kubectl) -> None:
    assert "rollingUpdate" in kubectl("explain", "deployment.spec.strategy")


def test_get_prints_columns_and_short_names_work(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", kubectl.file(deployment(replicas=2), config("conf", a="1")))
    assert kubectl("get", "deploy").split()[:5] == [
        "NAME",
        "READY",
        "UP-TO-DATE",
        "AVAILABLE",
        "AGE",
    ]
    assert "0/2" in kubectl("get", "deploy", "web") and "configmap/conf" in kubectl(
        "get", "cm,deploy", "-o", "name"
    )
    assert "deployment.apps/web" in kubectl("get", "all")


def test_wait_ends_when_the_condition_comes(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", kubectl.file(deployment()))
    kubectl("wait", "--for=condition=Available", "deploy/web", "--timeout=1s", code=1)
    api = Client(kubectl.kubeconfig)
    path = f"/apis/apps/v1/namespaces/{kubectl.namespace}/deployments/web/status"
    status = {"status": {"conditions": [{"type": "Available", "status": "True"}]}}
    api.ok("PATCH", path, status, form="application/merge-patch+json")
    kubectl("wait", "--for=condition=Available", "deploy/web", "--timeout=20s")


def test_the_everyday_verbs(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "made", "--from-literal=a=b")
    kubectl("create", "secret", "generic", "key", "--from-literal=a=b")
    kubectl("create", "deployment", "web", "--image=nginx:1.25")
    kubectl("scale", "deploy", "web", "--replicas=4")
    kubectl("set", "image", "deploy/web", "nginx=nginx:1.26")
    kubectl("label", "deploy", "web", "tier=front")
    kubectl("annotate", "deploy", "web", "note=here")
    kubectl("patch", "deploy", "web", "-p", '{"spec": {"paused": true}}')
    kubectl("expose", "deploy", "web", "--port=80")
    deployment = kubectl.json("get", "deploy", "web")
    assert (
        deployment["spec"]["replicas"] == 4
        and deployment["spec"]["paused"]
        and deployment["metadata"]["labels"]["tier"] == "front"
    )
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.26"
    assert "yes" in kubectl("auth", "can-i", "delete", "pods")
    assert "nginx:1.26" in kubectl("describe", "deploy", "web")
    kubectl(
        "delete",
        "deploy,svc,cm,secret",
        "web",
        "made",
        "key",
        "--ignore-not-found",
        "--timeout=20s",
    )
    assert kubectl("get", "deploy,svc", "-o", "name").strip() in (
        "",
        "No resources found in " + kubectl.namespace + " namespace.",
    )
