"""k8s.proof: an operator that acts is told from one that does not, also right after another proof.

The operator is the test itself: it makes a pod for the object once it is there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tests.modules.k8s.test_manifest import config, path
from tests.support.kube.module_stage import KubeStage
from tests.support.until import until

GUARD = "example.com/guard"
PROOF_BEGUN_SECONDS = 1.5


def proof(stage: KubeStage, timeout: float) -> dict[str, Any]:
    body = {**config("proof"), "metadata": {"name": "proof", "namespace": stage.namespace}}
    return {"name": "proof", "k8s.proof": {"definition": body, "timeout": timeout}}


def pod_of(stage: KubeStage, owner: dict[str, Any]) -> dict[str, Any]:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "proof",
        "uid": owner["metadata"]["uid"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "proof-0", "ownerReferences": [reference]},
        "spec": {"containers": [{"name": "main", "image": "web:1"}]},
    }


def operator(stage: KubeStage, before: Callable[[], Any]) -> threading.Thread:
    """After what is done `before`, makes its pod for an object that is not being deleted."""

    def act() -> None:
        before()
        owner = until(lambda: _alive(stage), what="the object")
        until(lambda: _made(stage, pod_of(stage, owner)), what="its pod")

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def _alive(stage: KubeStage) -> Any:
    found = stage.api.get(path(stage, "proof"))
    return found if found and "deletionTimestamp" not in found["metadata"] else None


def _made(stage: KubeStage, pod: dict[str, Any]) -> bool:
    made = stage.api.call("POST", f"/api/v1/namespaces/{stage.namespace}/pods", pod)
    return bool(made["kind"] == "Pod")


def test_an_operator_that_acts_is_proved_and_its_object_goes(stage: KubeStage) -> None:
    acting = operator(stage, lambda: None)
    run = stage.play([proof(stage, 20)])
    acting.join()
    assert run.code == 0, run.text
    assert _alive(stage) is None


def test_one_that_does_not_act_fails_with_what_did_not_come(stage: KubeStage) -> None:
    run = stage.play([proof(stage, 1)])
    assert run.code == 2 and "got no pod" in run.text, run.text
    assert "its operator does not act" in run.text


def test_an_object_of_an_earlier_proof_that_still_goes_is_waited_for(stage: KubeStage) -> None:
    held = config("proof")
    held["metadata"]["finalizers"] = [GUARD]
    stage.api.call("POST", f"/api/v1/namespaces/{stage.namespace}/configmaps", held)
    stage.api.call("DELETE", path(stage, "proof"))

    def let_go() -> None:
        threading.Event().wait(PROOF_BEGUN_SECONDS)
        stage.api.merge(path(stage, "proof"), {"metadata": {"finalizers": None}})

    acting = operator(stage, let_go)
    run = stage.play([proof(stage, 10)])
    acting.join()
    assert run.code == 0, run.text


def test_a_pod_of_an_earlier_proof_is_waited_for(stage: KubeStage) -> None:
    """Its name is that of the pod to come."""
    body = config("proof")
    earlier = stage.api.call("POST", f"/api/v1/namespaces/{stage.namespace}/configmaps", body)
    pod = pod_of(stage, earlier)
    pod["metadata"]["finalizers"] = [GUARD]
    assert _made(stage, pod)
    stage.api.call("DELETE", path(stage, "proof"))
    stage.api.call("DELETE", path(stage, "proof-0", "pods"))
    objects: list[Any] = []

    def clean_up() -> None:
        threading.Event().wait(PROOF_BEGUN_SECONDS)
        objects.append(_alive(stage))
        stage.api.merge(path(stage, "proof-0", "pods"), {"metadata": {"finalizers": None}})

    acting = operator(stage, clean_up)
    run = stage.play([proof(stage, 10)])
    acting.join()
    assert run.code == 0, run.text
    assert objects == [None], "the object came beside a pod of the one before"
