"""What people type after a role is created: the short names, columns and verbs that the operators'
own definitions have."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from tests.support.kube.addon_stage import ROOT, AddonStage

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")


class Kubectl:
    """The real client, as somebody who is not us."""

    def __init__(self, stage: AddonStage) -> None:
        self.stage = stage

    def __call__(self, *words: str, code: int = 0) -> str:
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.stage.api.kubeconfig),
            "HOME": str(self.stage.folder),
        }
        command = ["kubectl", *words]
        ran = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == code, f"{' '.join(words)}: {ran.stdout}{ran.stderr}"
        return ran.stdout + ran.stderr

    def file(self, body: dict[str, Any]) -> str:
        path = self.stage.folder / "object.yaml"
        path.write_text(yaml.safe_dump(body))
        return str(path)


def test_queues_and_jobs_of_volcano_answer_to_their_short_names(stage: AddonStage) -> None:
    made, kubectl = stage.create("volcano"), Kubectl(stage)
    assert made.code == 0, made.messages
    assert "test" in kubectl("get", "q") and "No resources found" in kubectl(
        "get", "vcjob,pg", "-A"
    )
    wrong = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "wrong", "namespace": "default"},
        "spec": {"maxRetry": "three"},
    }
    assert "maxRetry" in kubectl(
        "apply", "--server-side", "--dry-run=server", "-f", kubectl.file(wrong), code=1
    )
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "test"},
        "spec": {"weight": 7},
    }
    conflict = kubectl("apply", "--server-side", "-f", kubectl.file(queue), code=1)
    assert "conflict" in conflict and "playrunner" in conflict, "who owns a field of ours is told"
    assert _weight(stage) == 1


def test_jobs_of_kubeflow_are_listed_with_their_state_and_can_be_scaled(stage: AddonStage) -> None:
    made, kubectl = stage.create("kubeflow", versions="guide"), Kubectl(stage)
    assert made.code == 0, made.messages
    place = stage.namespace()
    template = {
        "spec": {
            "containers": [
                {"name": "pytorch", "image": "busybox:1.36", "command": ["sh", "-c", "exit 0"]}
            ]
        }
    }
    worker = {"replicas": 1, "restartPolicy": "OnFailure", "template": template}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "fsdp"},
        "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Worker": worker}},
    }
    kubectl("apply", "-n", place, "-f", kubectl.file(job))
    assert kubectl("get", "pytorchjobs", "-n", place).split()[:3] == ["NAME", "STATE", "AGE"]
    kubectl("scale", "pytorchjob/fsdp", "--replicas=3", "-n", place)
    (there,) = stage.objects("kubeflow.org/v1", "pytorchjobs", namespace=place)
    assert there["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 3
    kubectl("delete", "pytorchjob", "fsdp", "-n", place)


def _weight(stage: AddonStage) -> int:
    return int(stage.object("scheduling.volcano.sh/v1beta1", "queues", "test")["spec"]["weight"])
