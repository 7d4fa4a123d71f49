"""Pods as hosts: the connection kubectl, over our own client of the API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.kube.local import LocalRuntime, served
from tests.support.kube.module_stage import Api
from tests.support.runner import Stage

POD = {
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "web:1"}]},
}
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: file, copy: {dest: %s/file, content: "hello"}}
    - {name: read, slurp: {src: %s/file}}
    - {name: large, command: head -c 300000 /dev/zero}
    - {name: fails, command: sh -c 'echo no >&2; exit 3', ignore_errors: true}
"""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A cluster whose pods run programs of this machine, and a pod in it."""
    folder = tmp_path / "kube"
    folder.mkdir()
    with served(LocalRuntime(), folder) as kubeconfig:
        made = Api(Path(kubeconfig)).call("POST", "/api/v1/namespaces/default/pods", POD)
        assert made["kind"] == "Pod", made
        variables = {
            "ansible_connection": "kubernetes.core.kubectl",
            "ansible_kubectl_kubeconfig": str(kubeconfig),
        }
        inventory = tmp_path / "inventory.yaml"
        inventory.write_text(yaml.safe_dump({"all": {"hosts": {"web": variables}}}))
        yield Stage(tmp_path, inventory)


def test_steps_run_in_the_pod(stage: Stage, tmp_path: Path) -> None:
    done = stage.play(PLAY % (tmp_path, tmp_path))
    assert done.code == 0, done.text
    assert (tmp_path / "file").read_text() == "hello"
    assert done.result("web", "read")["values"]["content"] == "aGVsbG8="
    assert len(done.result("web", "large")["values"]["stdout"]) == 300000
    assert done.result("web", "fails")["values"]["rc"] == 3
    again = stage.play(PLAY % (tmp_path, tmp_path))
    assert again.result("web", "file")["status"] == "ok"


def test_a_pod_that_is_not_there_is_unreachable(stage: Stage) -> None:
    done = stage.play(PLAY % ("/x", "/x"), "--extra-vars", "ansible_kubectl_pod=other")
    assert done.code == 4 and "other" in done.text, done.text


def test_a_kubeconfig_that_is_not_there_is_named(stage: Stage) -> None:
    done = stage.play(PLAY % ("/x", "/x"), "--extra-vars", "ansible_kubectl_kubeconfig=/nowhere")
    assert done.code == 4 and "there is no kubeconfig /nowhere" in done.text, done.text
