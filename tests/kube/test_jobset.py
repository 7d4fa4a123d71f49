"""jobset: JobSet's kind, controller and webhooks, proved by a JobSet that gets its pod."""

from __future__ import annotations

from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import container_of

KIND = "jobsets.jobset.x-k8s.io"


def test_jobset_comes_once_and_goes_without_a_trace(stage: AddonStage) -> None:
    made = stage.create("jobset")
    assert made.code == 0, made.messages
    assert made.statuses["jobset : jobset gives a job its pods"] == "ok"
    assert stage.objects("jobset.x-k8s.io/v1alpha2", "jobsets") == []  # the proof is gone
    deployment = stage.object(
        "apps/v1", "deployments", "jobset-controller-manager", "jobset-system"
    )
    assert container_of(deployment)["image"] == "registry.k8s.io/jobset/jobset:v0.12.0"
    again = stage.create("jobset")
    assert again.code == 0 and again.changed == [], again.statuses
    gone = stage.delete("jobset")
    assert gone.code == 0, gone.data
    assert stage.object("v1", "namespaces", "jobset-system") is None
    assert stage.object("apiextensions.k8s.io/v1", "customresourcedefinitions", KIND) is None
