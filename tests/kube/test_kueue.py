"""kueue: its kinds, controller and webhooks, and queues that admit jobs; proved by a suspended Job
that gets its pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from playrunner.training.kube.rights_command import given
from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.definitions import SUSPENDING, minor_version
from tests.support.kube.service_account import as_account, forget_account
from tests.support.until import until

API = "kueue.x-k8s.io/v1beta2"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def _job(name: str, cpu: str) -> dict[str, Any]:
    box = {"name": "main", "image": "busybox:1.36", "command": ["sleep", "60"],
           "resources": {"requests": {"cpu": cpu, "memory": "4Mi"}}}  # fmt: skip
    return {
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "training"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [box]}}},
    }


@pytest.fixture(autouse=True)
def _server_with_suspended_jobs(stage: AddonStage) -> None:
    if minor_version(stage) < SUSPENDING:
        pytest.skip(f"kueue suspends Jobs, which there are since 1.{SUSPENDING}")


@pytest.fixture
def installer(stage: AddonStage) -> Iterator[str]:
    """A user with just the rights that kube.rights --for add-ons prints."""
    objects = given("add-ons", "default", f"default:{stage.own}")
    yield str(as_account(stage.api, stage.folder, stage.own, objects))
    forget_account(stage.api, stage.own, objects)


def test_kueue_comes_once_admits_what_has_room_and_goes_without_a_trace(
    stage: AddonStage, installer: str
) -> None:
    quota = {"cpu": "1", "memory": "1Gi"}
    made = stage.create("kueue", kueue_quota=quota, kubeconfig=installer)
    assert made.code == 0, made.messages
    assert made.statuses["kueue : kueue admits a job"] == "ok"
    until(lambda: stage.objects(API, "workloads") == [], what="the end of the proof")
    (flavor,) = stage.objects(API, "resourceflavors")
    queue = stage.object(API, "clusterqueues", "training")
    (group,) = queue["spec"]["resourceGroups"]
    assert group["flavors"][0]["name"] == flavor["metadata"]["name"] == "default"
    assert group["coveredResources"] == ["cpu", "memory"]
    again = stage.create("kueue", kueue_quota=quota, kubeconfig=installer)
    assert again.code == 0 and again.changed == [], again.statuses

    assert stage.api.call("POST", JOBS, _job("small", "500m"))["spec"]["suspend"] is True
    stage.api.call("POST", JOBS, _job("large", "800m"))
    until(lambda: not stage.api.get(f"{JOBS}/small")["spec"].get("suspend"), what="its admission")

    def told() -> str:
        for workload in stage.objects(API, "workloads"):
            if workload["metadata"]["name"] == "job-large":
                for one in (workload.get("status") or {}).get("conditions") or ():
                    return str(one["message"])
        return ""

    until(lambda: "insufficient unused quota for cpu" in told(), what="the reason of its wait")
    assert stage.api.get(f"{JOBS}/large")["spec"]["suspend"] is True
    stage.api.call("DELETE", f"{JOBS}/small?propagationPolicy=Background")
    until(lambda: not stage.api.get(f"{JOBS}/large")["spec"].get("suspend"), what="its turn")
    stage.api.call("DELETE", f"{JOBS}/large?propagationPolicy=Background")
    until(lambda: stage.objects(API, "workloads") == [], what="an empty queue")
    gone = stage.delete("kueue", kubeconfig=installer)
    assert gone.code == 0, gone.data
    assert stage.object("v1", "namespaces", "kueue-system") is None
    left = stage.objects("apiextensions.k8s.io/v1", "customresourcedefinitions")
    assert not [one for one in left if one["metadata"]["name"].endswith("kueue.x-k8s.io")]
