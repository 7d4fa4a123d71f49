"""The operators' webhooks: not there at once, then complete and judging what is submitted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from playrunner.sandbox.kube.operators.installed import TRAINING_OPERATOR, VOLCANO_ADMISSION
from tests.support.kube.client import Answer
from tests.support.kube.operator_jobs import Object, pytorch_job, volcano_job
from tests.support.kube.operators_stage import Cluster

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


def webhook(
    kind: str,
    name: str,
    service: Object,
    group: str,
    version: str,
    plural: str,
    operations: list[str],
) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{name}.volcano.sh",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "clientConfig": {"service": {"port": 443, **service}},
                "rules": [
                    {
                        "apiGroups": [group],
                        "apiVersions": [version],
                        "resources": [plural],
                        "operations": operations,
                    }
                ],
            }
        ],
    }


def volcano_webhooks() -> list[Object]:
    kinds = {"mutate": "MutatingWebhookConfiguration", "validate": "ValidatingWebhookConfiguration"}
    configurations = []
    for plural, group, version in (
        ("jobs", "batch", "v1alpha1"),
        ("queues", "scheduling", "v1beta1"),
    ):
        for doing, kind in kinds.items():
            operations = ["CREATE"] if doing == "mutate" else ["CREATE", "UPDATE", "DELETE"]
            place = {
                "name": "volcano-admission-service",
                "namespace": VOLCANO_ADMISSION.namespace,
                "path": f"/{plural}/{doing}",
            }
            configurations.append(
                webhook(
                    kind,
                    f"{plural}-{doing}",
                    place,
                    f"{group}.volcano.sh",
                    version,
                    plural,
                    operations,
                )
            )
    return configurations


def service(name: str, namespace: str, selector: dict[str, str], port: int) -> Object:
    spec = {"selector": selector, "ports": [{"port": 443, "targetPort": port}]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def dry_run(cluster: Cluster, name: str = "trial") -> Answer:
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1},
    }
    return cluster.client.call("POST", QUEUES, queue, dryRun="All")


@pytest.fixture
def admission(place: Cluster) -> Iterator[Cluster]:
    """Volcano's webhooks, and the service that they name: nobody is behind it yet."""
    namespace, name = VOLCANO_ADMISSION.namespace, VOLCANO_ADMISSION.deployment
    place.create(service("volcano-admission-service", namespace, {"app": name}, 8443))
    for one in volcano_webhooks():
        place.create(one)
    yield place
    for one in volcano_webhooks():
        place.delete(one["apiVersion"], one["kind"].lower() + "s", one["metadata"]["name"], "")
    place.delete("apps/v1", "deployments", name, namespace)
    place.delete("batch/v1", "jobs", "volcano-admission-init", namespace)
    place.delete("v1", "services", "volcano-admission-service", namespace)
    place.delete("v1", "secrets", "volcano-admission-secret", namespace)
    place.awaited(lambda: not place.operator_pods(VOLCANO_ADMISSION), "its end")


def install_admission(place: Cluster) -> None:
    """The Job that makes its certificate, and the Deployment that waits for it."""
    namespace, image = VOLCANO_ADMISSION.namespace, "volcanosh/vc-webhook-manager:v1.15.1"
    pod = {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": image, "command": ["./gen-admission-secret.sh"]}],
    }
    place.create(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "volcano-admission-init", "namespace": namespace},
            "spec": {"template": {"spec": pod}},
        }
    )
    place.install(VOLCANO_ADMISSION, image)
    place.merge(
        "apps/v1",
        "deployments",
        VOLCANO_ADMISSION.deployment,
        {
            "spec": {
                "template": {
                    "spec": {
                        "volumes": [
                            {
                                "name": "certificates",
                                "secret": {"secretName": "volcano-admission-secret"},
                            }
                        ]
                    }
                }
            }
        },
        namespace,
    )


def test_volcanos_admission_refuses_at_first_then_completes_and_judges(admission: Cluster) -> None:
    early = dry_run(admission)
    assert (early.code, "failed calling webhook" in early.message) == (500, True), early.message
    install_admission(admission)
    admission.awaited(lambda: dry_run(admission).code == 201, "an answer")

    made = admission.create(volcano_job("plain", tasks={"": {"replicas": 2}}, script="exit 0"))
    assert (
        made["spec"].items()
        >= {
            "queue": "default",
            "schedulerName": "volcano",
            "maxRetry": 3,
            "minAvailable": 2,
        }.items()
    )
    assert made["spec"]["tasks"][0]["name"] == "default0"
    admission.awaited(lambda: admission.phase("plain") == "Completed", "its end")

    jobs = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{admission.namespace}/jobs"

    def refused(job: Object) -> str:
        answer = admission.client.call(
            "POST", jobs, {**job, "metadata": {"name": job["metadata"]["name"]}}
        )
        assert answer.code == 400, answer
        return answer.message

    assert 'queues.scheduling.volcano.sh "nowhere" not found' in refused(
        volcano_job("lost", queue="nowhere")
    )
    assert "'minAvailable' should not be greater" in refused(volcano_job("greedy", minAvailable=5))
    assert "No task specified" in refused({**volcano_job("empty"), "spec": {"tasks": []}})
    kept = admission.client.call("DELETE", f"{QUEUES}/default")
    assert (kept.code, "can not be deleted" in kept.message) == (400, True)


def test_the_training_operator_fills_its_certificate_in_and_judges_jobs(place: Cluster) -> None:
    namespace, name = TRAINING_OPERATOR.namespace, TRAINING_OPERATOR.deployment
    secret = "training-operator-webhook-cert"
    hook = webhook(
        "ValidatingWebhookConfiguration",
        "validator.training-operator.kubeflow.org",
        {"name": name, "namespace": namespace, "path": "/validate-kubeflow-org-v1-pytorchjob"},
        "kubeflow.org",
        "v1",
        "pytorchjobs",
        ["CREATE", "UPDATE"],
    )
    place.create(service(name, namespace, {"app": name}, 9443))
    place.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret, "namespace": namespace}}
    )
    place.create(hook)
    jobs = f"/apis/kubeflow.org/v1/namespaces/{place.namespace}/pytorchjobs"
    try:
        good = {**pytorch_job("good", workers=1), "metadata": {"name": "good"}}
        place.awaited(
            lambda: place.client.call("POST", jobs, good, dryRun="All").code == 201, "an answer"
        )
        bad = {**pytorch_job("bad", workers=1), "metadata": {"name": "bad"}}
        bad["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0][
            "name"
        ] = "trainer"
        answer = place.client.call("POST", jobs, bad)
        assert (
            answer.code,
            "must have at least one container with name pytorch" in answer.message,
        ) == (403, True)
    finally:
        place.delete(
            hook["apiVersion"], "validatingwebhookconfigurations", hook["metadata"]["name"], ""
        )
        place.delete("v1", "secrets", secret, namespace)
        place.delete("v1", "services", name, namespace)
