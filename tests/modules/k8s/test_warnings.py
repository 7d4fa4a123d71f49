"""What an API server says beside its answer (`Warning:` headers) reaches the user, each once."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import KubeSettings, access
from playrunner.kube.client.transport import Transport
from tests.support.kube.module_stage import Api, KubeStage


def require_version(api: Api, minor: int, what: str) -> None:
    found = int("".join(filter(str.isdigit, api.get("/version")["minor"])))
    if found < minor:
        pytest.skip(f"servers {what} since 1.{minor}, and this is 1.{found}")


@pytest.fixture
def warned(stage: KubeStage) -> KubeStage:
    """A namespace that takes any pod, and warns of those that are not restricted."""
    require_version(stage.api, 23, "have Pod Security Standards")
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}}
    stage.api.merge(f"/api/v1/namespaces/{stage.namespace}", label)
    return stage


def deployment(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "web:1"}]},
            },
        },
    }


def apply(stage: KubeStage, *objects: dict[str, Any]) -> list[dict[str, Any]]:
    given = {"name": "web", "definition": list(objects), "namespace": stage.namespace}
    return [{"name": "web", "k8s.manifest": {**given, "wait": False}}]


def test_a_step_tells_each_warning_of_the_server_once(warned: KubeStage) -> None:
    made = warned.play(apply(warned, deployment("one"), deployment("two")))
    assert made.code == 0, made.messages
    (told,) = made.values["web"]["warnings"]
    assert told.startswith("the API server warns: would violate PodSecurity")
    assert 'container "main" must set securityContext.allowPrivilegeEscalation=false' in told
    again = warned.play(apply(warned, deployment("one"), deployment("two")))
    assert again.statuses["web"] == "ok" and "warnings" not in again.values["web"]


def refused_after_a_warning(stage: KubeStage) -> list[dict[str, Any]]:
    """A set whose first object is warned of, and whose second one the server does not take."""
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": 1}}
    return [{**step, "ignore_errors": True} for step in apply(stage, deployment("one"), wrong)] + [
        {"name": "after", "k8s.ready": {"kind": "ConfigMap", "name": "c", "gone": True}}
    ]


def test_a_step_that_fails_tells_its_warnings_itself(warned: KubeStage) -> None:
    made = warned.play(refused_after_a_warning(warned))
    assert made.values["web"]["failed"], made.messages
    (told,) = made.values["web"]["warnings"]
    assert told.startswith("the API server warns: would violate PodSecurity")
    assert made.code == 0 and "warnings" not in made.values["after"], made.messages


def test_warnings_of_an_attempt_that_failed_are_told_with_the_step(warned: KubeStage) -> None:
    step, _ = refused_after_a_warning(warned)
    made = warned.play([{**step, "retries": 1, "delay": 0}])
    assert made.values["web"]["attempts"] == 1, made.values["web"]  # of 1 retry
    (told,) = made.values["web"]["warnings"]
    assert "would violate PodSecurity" in told


def test_a_check_tells_them_before_anything_is_made(warned: KubeStage) -> None:
    foreseen = warned.play(apply(warned, deployment("one")), check=True)
    assert foreseen.statuses["web"] == "changed", foreseen.messages
    assert "would violate PodSecurity" in foreseen.values["web"]["warnings"][0]
    assert warned.api.get(f"/apis/apps/v1/namespaces/{warned.namespace}/deployments/one") is None


def test_all_warnings_of_one_answer_are_heard(stage: KubeStage) -> None:
    require_version(stage.api, 25, "warn of unknown fields")
    kube = Kube(Cluster(lambda: Transport(access(KubeSettings(str(stage.api.kubeconfig))))))
    path = f"/api/v1/namespaces/{stage.namespace}/configmaps"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "dta": {}, "x": 1}
    kube.call("POST", path, body)
    assert sorted(kube.cluster.take_warnings()) == ['unknown field "dta"', 'unknown field "x"']
    assert kube.cluster.take_warnings() == []
