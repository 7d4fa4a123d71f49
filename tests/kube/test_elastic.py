"""elastic: ElasticJob as a kind that a cluster of today takes, and its controller, as the guide had
it."""

from __future__ import annotations

import threading
from urllib.parse import urlsplit

import yaml

from tests.modules.k8s.test_ready import later
from tests.support.kube.addon_stage import PATIENCE_SECONDS, AddonStage
from tests.support.kube.rendering import container_of
from tests.support.kube.request_gate import Gate

KIND = "elasticjobs.elastic.pytorch.org"


def test_elastic_comes_once_and_goes_without_a_trace(stage: AddonStage) -> None:
    foreseen = stage.create("elastic", check=True)
    assert foreseen.statuses == {
        "elastic : elastic CRD": "changed",
        "elastic : elastic job controller": "changed",
        "elastic : elastic gives a job its pods": "unknown",
    }, foreseen.messages
    assert stage.object("v1", "namespaces", "elastic-job") is None
    made = stage.create("elastic")
    assert made.code == 0, made.messages
    again = stage.create("elastic")
    assert again.code == 0 and again.changed == [], again.statuses
    assert {row["state"] for row in stage.status("elastic").data["things"]} == {"there"}
    _is_as_the_guide_has_it(stage)
    gone = stage.delete("elastic")
    assert gone.code == 0, gone.data
    assert stage.object("v1", "namespaces", "elastic-job") is None
    assert stage.object("apiextensions.k8s.io/v1", "customresourcedefinitions", KIND) is None
    assert (
        stage.object(
            "rbac.authorization.k8s.io/v1", "clusterroles", "elastic-job-k8s-controller-role"
        )
        is None
    )


def test_the_controller_has_memory_for_many_jobs_and_may_have_more(stage: AddonStage) -> None:
    """The guide's 30Mi was too little."""
    made = stage.create("elastic")
    assert made.code == 0, made.messages
    assert _memory(stage) == {"requests": "20Mi", "limits": "128Mi"}
    more = stage.create("elastic", elastic_memory="512Mi")
    assert more.code == 0 and _memory(stage)["limits"] == "512Mi", more.messages
    less = stage.create("elastic", elastic_memory="10Mi")
    assert less.code == 2 and "must be less than or equal to memory limit" in str(less.messages)
    assert _memory(stage)["limits"] == "512Mi"


def _memory(stage: AddonStage) -> dict[str, str]:
    found = stage.object("apps/v1", "deployments", "elastic-job-k8s-controller", "elastic-job")
    return {name: one["memory"] for name, one in container_of(found)["resources"].items()}


def test_a_job_keeps_its_status_and_fields_that_we_do_not_know(stage: AddonStage) -> None:
    """The controller writes the status with the whole object: a subresource would drop it."""
    made = stage.create("elastic")
    assert made.code == 0, made.messages
    jobs = "/apis/elastic.pytorch.org/v1alpha1/namespaces/elastic-job/elasticjobs"
    job = {
        "apiVersion": "elastic.pytorch.org/v1alpha1",
        "kind": "ElasticJob",
        "metadata": {"name": "imagenet"},
        "spec": {
            "rdzvEndpoint": "etcd-service:2379",
            "minReplicas": 1,
            "maxReplicas": 2,
            "replicaSpecs": {
                "Worker": {
                    "replicas": 0,
                    "restartPolicy": "ExitCode",
                    "template": {"spec": {"containers": [{"name": "worker", "image": "none"}]}},
                }
            },
            "somethingNew": {"kept": True},
        },
        "status": {"conditions": [{"type": "Created", "status": "True"}], "note": "kept"},
    }
    there = stage.api.call("POST", jobs, job)
    assert there.get("kind") == "ElasticJob", there
    assert there["spec"]["somethingNew"] == {"kept": True} and there["status"]["note"] == "kept"
    for wrong in ({"minReplicas": 0}, {"rdzvEndpoint": None}):
        refused = stage.api.call(
            "POST",
            jobs,
            {
                **job,
                "metadata": {"name": "wrong"},
                "spec": {
                    key: value
                    for key, value in {**job["spec"], **wrong}.items()
                    if value is not None
                },
            },
        )  # type: ignore[dict-item]
        assert refused["kind"] == "Status" and refused["code"] == 422, refused


def test_a_kind_that_is_not_served_yet_is_waited_for(stage: AddonStage, pretend: None) -> None:
    stage.api.call("POST", "/_sandbox/settings", {"established": 2.0})
    try:
        made = stage.create("elastic")
    finally:
        stage.api.call("POST", "/_sandbox/settings", {"established": 0.05})
    assert made.code == 0, made.messages
    assert stage.objects("elastic.pytorch.org/v1alpha1", "elasticjobs") == []


def test_an_api_server_that_restarts_in_the_middle_is_waited_for(stage: AddonStage) -> None:
    """The runner sees it go and come back: all connections end, and for a while nobody listens."""
    gate = Gate(urlsplit(stage.api.server).port or 0)
    content = yaml.safe_load(stage.api.kubeconfig.read_text())
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{gate.port}"
    file = stage.folder / "through-the-gate.yaml"
    file.write_text(yaml.safe_dump(content))
    away = threading.Event()

    def restart() -> None:
        stage.awaited(lambda: stage.object("v1", "namespaces", "elastic-job"))
        gate.shut()
        away.set()
        later(1.5, gate.reopen)

    watcher = threading.Thread(target=restart, daemon=True)
    watcher.start()
    try:
        made = stage.create("elastic", kubeconfig=str(file))
        watcher.join(PATIENCE_SECONDS)
        assert away.is_set() and made.code == 0, made.messages
        assert stage.create("elastic").changed == []
    finally:
        gate.reopen()
        stage.delete("elastic")
        gate.close()


def _is_as_the_guide_has_it(stage: AddonStage) -> None:
    deployment = stage.object("apps/v1", "deployments", "elastic-job-k8s-controller", "elastic-job")
    container = container_of(deployment)
    assert container["image"] == "torchelastic/kubernetes:0.1.0"
    assert (container["command"], container["args"]) == (["/manager"], ["--enable-leader-election"])
    assert container["resources"]["requests"] == {"cpu": "100m", "memory": "20Mi"}
    # The guide's 30Mi end the controller once there are some jobs.
    assert container["resources"]["limits"]["memory"] == "128Mi"
    assert deployment["spec"]["selector"]["matchLabels"] == {"app": "torch-elastic"}
    binding = stage.object(
        "rbac.authorization.k8s.io/v1",
        "clusterrolebindings",
        "elastic-job-k8s-controller-rolebinding",
    )
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "default", "namespace": "elastic-job"}
    ]
