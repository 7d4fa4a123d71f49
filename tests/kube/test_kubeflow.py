"""kubeflow: the training operator with its kinds, and a webhook that does not answer at once."""

from __future__ import annotations

from typing import Any

import yaml

from tests.modules.k8s.test_ready import later
from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import container_of

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
HOOK = f"{HOOKS}/validator.training-operator.kubeflow.org"


def test_kubeflow_comes_once_and_goes_without_a_trace(stage: AddonStage) -> None:
    foreseen = stage.create("kubeflow", check=True)
    assert foreseen.code == 0 and "failed" not in foreseen.statuses.values(), foreseen.messages
    made = stage.create("kubeflow")
    assert made.code == 0, made.messages
    again = stage.create("kubeflow")
    assert again.code == 0 and again.changed == [], again.statuses
    _is_as_the_facts_have_it(stage)
    _takes_jobs_of_its_kinds(stage)
    gone = stage.delete("kubeflow")
    assert gone.code == 0, gone.data
    assert stage.object("v1", "namespaces", "kubeflow") is None
    assert (
        stage.object(
            "apiextensions.k8s.io/v1", "customresourcedefinitions", "pytorchjobs.kubeflow.org"
        )
        is None
    )
    assert stage.api.get(HOOK) is None


def test_the_version_of_the_guide_has_no_webhook(stage: AddonStage) -> None:
    made = stage.create("kubeflow", versions="guide")
    assert made.code == 0, made.messages
    deployment = stage.object("apps/v1", "deployments", "training-operator", "kubeflow")
    assert container_of(deployment)["image"] == "kubeflow/training-operator:v1-855e096"
    assert (
        stage.api.get(HOOK) is None
        and stage.object("v1", "secrets", "training-operator-webhook-cert", "kubeflow") is None
    )


def test_a_webhook_that_does_not_answer_yet_is_waited_for_and_one_that_never_does_is_named(
    stage: AddonStage,
) -> None:
    rule = {
        "apiGroups": ["kubeflow.org"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pytorchjobs"],
    }
    silent = {
        "metadata": {"name": stage.own},
        "webhooks": [
            {
                "name": "late.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "timeoutSeconds": 2,
                "rules": [rule],
                "clientConfig": {"url": "https://127.0.0.1:9/validate"},
            }
        ],
    }
    made = stage.create("kubeflow", versions="guide", kubeflow_webhook=True)
    assert made.code == 0, made.messages
    stage.api.call("POST", HOOKS, silent)
    try:
        named = stage.create(
            "kubeflow", versions="guide", kubeflow_webhook=True, kubeflow_timeout=2
        )
        later(1.5, lambda: stage.api.call("DELETE", f"{HOOKS}/{stage.own}"))
        waited = stage.create("kubeflow", versions="guide", kubeflow_webhook=True)
    finally:
        stage.api.call("DELETE", f"{HOOKS}/{stage.own}")
    assert named.code == 2 and "late.example.com" in named.messages, named.messages
    assert waited.code == 0 and waited.changed == [], waited.messages


def _is_as_the_facts_have_it(stage: AddonStage) -> None:
    deployment = stage.object("apps/v1", "deployments", "training-operator", "kubeflow")
    container = container_of(deployment)
    assert container["image"] == "ghcr.io/kubeflow/training-v1/training-operator:v1-93c5489"
    assert container["command"] == ["/manager"]
    assert deployment["spec"]["selector"]["matchLabels"] == {
        "control-plane": "kubeflow-training-operator"
    }
    healthy, ready = container["livenessProbe"], container["readinessProbe"]
    assert (
        healthy["httpGet"]["path"],
        healthy["initialDelaySeconds"],
        healthy["periodSeconds"],
    ) == ("/healthz", 15, 20)
    assert (ready["httpGet"]["path"], ready["initialDelaySeconds"], ready["periodSeconds"]) == (
        "/readyz",
        10,
        15,
    )
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts["config"] == "/etc/config"
    config = stage.object("v1", "configmaps", "training-operator-config", "kubeflow")
    (waiting,) = yaml.safe_load(config["data"]["initContainer.yaml"].replace("{{.", "(("))
    assert waiting["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }, "what the restricted standard asks of each container"
    ports = stage.object("v1", "services", "training-operator", "kubeflow")["spec"]["ports"]
    assert {(port["port"], port["targetPort"]) for port in ports} == {(8080, 8080), (443, 9443)}
    (hook,) = stage.api.get(HOOK)["webhooks"]
    assert (
        hook["failurePolicy"] == "Fail"
        and hook["clientConfig"]["service"]["name"] == "training-operator"
    )


def _takes_jobs_of_its_kinds(stage: AddonStage) -> None:
    """As a client sends them; nothing is kept, since these are dry runs."""
    for kind, plural, specs in (
        ("PyTorchJob", "pytorchjobs", "pytorchReplicaSpecs"),
        ("MPIJob", "mpijobs", "mpiReplicaSpecs"),
    ):
        home = f"/apis/kubeflow.org/v1/namespaces/default/{plural}?dryRun=All"
        replicas = {
            "Worker": {
                "replicas": 2,
                "restartPolicy": "OnFailure",
                "template": {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}},
            }
        }
        job: dict[str, Any] = {
            "apiVersion": "kubeflow.org/v1",
            "kind": kind,
            "metadata": {"name": "dry-run"},
            "spec": {specs: replicas, "runPolicy": {"cleanPodPolicy": "None"}},
        }
        there = stage.api.call("POST", home, job)
        assert there["kind"] == kind and there["spec"][specs] == replicas, there
        assert there["spec"]["runPolicy"]["suspend"] is False
        refused = stage.api.call(
            "POST", home, {**job, "spec": {specs: {"Worker": {"replicas": "two"}}}}
        )
        assert refused["kind"] == "Status" and refused["code"] in (400, 422), refused
