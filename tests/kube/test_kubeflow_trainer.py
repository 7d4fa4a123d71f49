"""kubeflow_trainer: Kubeflow Trainer's kinds, controller and webhooks on JobSet's, proved by a
TrainJob that gets its pod."""

from __future__ import annotations

from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import container_of

KINDS = ("trainjobs", "trainingruntimes", "clustertrainingruntimes")
API = "trainer.kubeflow.org/v1alpha1"


def test_kubeflow_trainer_comes_once_on_jobset_and_goes_without_a_trace(stage: AddonStage) -> None:
    alone = stage.create("kubeflow_trainer")
    assert alone.code == 2, "it stands on JobSet"
    needed = "kubeflow_trainer : kubeflow_trainer finds the kind JobSet (jobset.create brings it)"
    assert alone.statuses[needed] == "failed"
    assert stage.create("jobset", jobset_proof=False).code == 0
    made = stage.create("kubeflow_trainer")
    assert made.code == 0, made.messages
    assert made.statuses["kubeflow_trainer : kubeflow_trainer gives a job its pods"] == "ok"
    assert stage.objects(API, "trainjobs") == []  # the proof is gone
    name = "kubeflow-trainer-controller-manager"
    deployment = stage.object("apps/v1", "deployments", name, "kubeflow-system")
    assert container_of(deployment)["image"].endswith("/trainer-controller-manager:v2.3.0")
    again = stage.create("kubeflow_trainer")
    assert again.code == 0 and again.changed == [], again.statuses
    lost = {
        "apiVersion": API,
        "kind": "TrainJob",
        "metadata": {"name": "lost"},
        "spec": {"runtimeRef": {"name": "nowhere"}},
    }
    refused = stage.api.call("POST", f"/apis/{API}/namespaces/default/trainjobs", lost)
    assert "must be created before the TrainJob is created" in refused["message"], refused
    gone = stage.delete("kubeflow_trainer")
    assert gone.code == 0, gone.data
    assert stage.object("v1", "namespaces", "kubeflow-system") is None
    for plural in KINDS:
        kind = f"{plural}.trainer.kubeflow.org"
        assert stage.object("apiextensions.k8s.io/v1", "customresourcedefinitions", kind) is None
