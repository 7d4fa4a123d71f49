"""What goes wrong in real clusters: each ends converged, or with an error that names the cause and
the next command."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from tests.modules.k8s.test_manifest import config, path, step
from tests.modules.k8s.test_ready import apps, deployment, later, ready
from tests.support.kube.module_stage import KubeStage


def definition(stage: KubeStage, plural: str) -> dict[str, Any]:
    group = f"{stage.own}.example.com"
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {"size": {"type": "integer"}},
            }
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural[:-1].capitalize()},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def custom(stage: KubeStage, kind: str, name: str, **meta: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{stage.own}.example.com/v1",
        "kind": kind,
        "metadata": {"name": name, **meta},
        "spec": {"size": 3},
    }


def webhook(stage: KubeStage) -> dict[str, Any]:
    """One for this test's namespace, at an address where nobody listens."""
    stage.api.merge(
        f"/api/v1/namespaces/{stage.namespace}", {"metadata": {"labels": {"own": stage.own}}}
    )
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }
    return {
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
                "namespaceSelector": {"matchLabels": {"own": stage.own}},
            }
        ],
    }


HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def test_a_webhook_that_does_not_answer_yet_is_waited_for(stage: KubeStage) -> None:
    stage.api.call("POST", HOOKS, webhook(stage))
    later(1.5, lambda: stage.api.call("DELETE", f"{HOOKS}/{stage.own}"))
    made = stage.play([step(stage, config("one", a="1"), record="default")])
    assert made.code == 0 and stage.api.get(path(stage, "one")), made.messages


def test_a_webhook_that_never_answers_is_named(stage: KubeStage) -> None:
    stage.api.call("POST", HOOKS, webhook(stage))
    try:
        late = stage.play([step(stage, config("one", a="1"), record="default", timeout=1)])
        asked = stage.play([ready(stage, dry_run=config("x"), timeout=0.5)])
    finally:
        stage.api.call("DELETE", f"{HOOKS}/{stage.own}")
    assert late.code == 2 and "late.example.com" in late.messages and "kubectl" in late.messages, (
        late.messages
    )
    assert asked.code == 2 and "late.example.com" in asked.messages, asked.messages
    assert stage.play([ready(stage, dry_run=config("x"))]).code == 0


def test_a_kind_and_its_objects_come_in_one_set_and_go_in_one(stage: KubeStage) -> None:
    steps = [step(stage, custom(stage, "Widget", "w"), definition(stage, "widgets"))]
    assert stage.play(steps, check=True).statuses["set"] == "changed"
    made = stage.play(steps)
    assert made.code == 0, made.messages
    assert stage.api.get(
        f"/apis/{stage.own}.example.com/v1/namespaces/{stage.namespace}/widgets/w"
    )["spec"] == {"size": 3}
    again, asked = stage.counted(steps)
    assert again.statuses["set"] == "ok" and {method for method, _ in asked} <= {
        "GET",
        "PATCH dry",
    }, again.values
    wrong = custom(stage, "Widget", "w")
    wrong["spec"] = {"size": "three"}
    refused = stage.play([step(stage, config("new"), wrong, definition(stage, "widgets"))])
    assert refused.code == 2 and "spec.size" in refused.messages, refused.messages
    assert stage.api.get(path(stage, "new")) is None
    removed = stage.delete(steps)
    assert removed.code == 0, removed.text
    assert (
        stage.api.get(
            f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{stage.own}.example.com"
        )
        is None
    )


def test_an_object_is_waited_for_before_its_kind_is_there(stage: KubeStage) -> None:
    group, one = f"{stage.own}.example.com", custom(stage, "Gadget", "g")

    def come() -> None:
        stage.api.call(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            definition(stage, "gadgets"),
        )
        home = f"/apis/{group}/v1/namespaces/{stage.namespace}/gadgets"
        _awaited(lambda: stage.api.call("POST", home, one).get("kind") == "Gadget")

    later(0.5, come)
    there = {"kind": "Gadget", "api_version": f"{group}/v1", "name": "g", "timeout": 20}
    run = stage.play([ready(stage, **there)])
    assert run.code == 0 and run.values["ready"]["names"] == ["g"], run.messages
    later(
        0.5,
        lambda: stage.api.call(
            "DELETE", f"/apis/{group}/v1/namespaces/{stage.namespace}/gadgets/g"
        ),
    )
    assert stage.play([ready(stage, **there, gone=True)]).code == 0
    stage.api.call(
        "DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.{group}"
    )


def test_what_a_finalizer_holds_is_named_with_the_way_out(stage: KubeStage) -> None:
    held = config("held", a="1")
    held["metadata"]["finalizers"] = ["example.com/guard"]
    steps = [step(stage, held, timeout=1)]
    assert stage.play(steps).code == 0
    stuck = stage.delete(steps)
    assert (
        stuck.code == 2
        and "example.com/guard" in stuck.text
        and "kubectl patch configmaps held" in stuck.text
    ), stuck.text
    later(0.5, lambda: stage.api.merge(path(stage, "held"), {"metadata": {"finalizers": None}}))
    steps[0]["k8s.manifest"]["timeout"] = 20
    assert stage.delete(steps).code == 0


def test_a_namespace_that_a_finalizer_holds_is_explained(stage: KubeStage, pretend: None) -> None:
    name = f"{stage.own}-held"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    steps = [step(stage, namespace, timeout=2)]
    assert stage.play(steps).code == 0
    held = config("held")
    held["metadata"]["finalizers"] = ["example.com/guard"]
    stage.api.call("POST", f"/api/v1/namespaces/{name}/configmaps", held)
    stuck = stage.delete(steps)
    assert stuck.code == 2 and f"Namespace {name} does not go" in stuck.text, stuck.text
    stage.api.merge(
        f"/api/v1/namespaces/{name}/configmaps/held", {"metadata": {"finalizers": None}}
    )
    steps[0]["k8s.manifest"]["timeout"] = 20
    assert stage.delete(steps).code == 0


def test_who_may_not_is_told_what_is_missing(stage: KubeStage, pretend: None) -> None:
    stage.api.call("POST", "/_sandbox/faults", {"kind": "deny", "action": "configmaps:apply"})
    try:
        refused = stage.play([step(stage, config("one"))])
    finally:
        stage.api.call("DELETE", "/_sandbox/faults")
    assert (
        refused.code == 2
        and "configmaps" in refused.messages
        and "kube_context" in refused.messages
    ), refused.messages


def test_pods_that_the_node_cannot_start_are_made_anew(stage: KubeStage) -> None:
    """As for the EFA plugin: the DaemonSet is deleted and applied again, then its pods start."""
    one = deployment("efa")
    one["kind"] = "DaemonSet"
    del one["spec"]["replicas"]
    home, pods_home = apps(stage, "daemonsets"), f"/api/v1/namespaces/{stage.namespace}/pods"

    def node() -> None:
        first = _awaited(lambda: stage.api.get(f"{home}/efa"))
        owner = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "name": "efa",
            "uid": first["metadata"]["uid"],
            "controller": True,
        }
        pod = {
            "metadata": {
                "name": "efa-1",
                "labels": one["spec"]["template"]["metadata"]["labels"],
                "ownerReferences": [owner],
            },
            "spec": one["spec"]["template"]["spec"],
        }
        stage.api.call("POST", pods_home, pod)
        waiting = {"reason": "CreateContainerConfigError", "message": "container has runAsNonRoot"}
        stage.api.status(
            f"{pods_home}/efa-1",
            phase="Pending",
            containerStatuses=[
                {
                    "name": "main",
                    "image": "x",
                    "imageID": "",
                    "ready": False,
                    "restartCount": 0,
                    "state": {"waiting": waiting},
                }
            ],
        )
        _awaited(
            lambda: (
                (found := stage.api.get(f"{home}/efa"))
                and found["metadata"]["uid"] != first["metadata"]["uid"]
            )
        )
        stage.api.status(
            f"{home}/efa",
            observedGeneration=1,
            desiredNumberScheduled=1,
            currentNumberScheduled=1,
            numberMisscheduled=0,
            numberReady=1,
            updatedNumberScheduled=1,
            numberAvailable=1,
        )

    threading.Thread(target=node, daemon=True).start()
    made = stage.play([step(stage, one, remake=["CreateContainerConfigError"], timeout=20)])
    assert made.code == 0, made.messages


def test_an_outsider_namespace_is_an_error_with_its_place(stage: KubeStage) -> None:
    lost = config("one")
    lost["metadata"]["namespace"] = "nowhere-to-be-seen"
    run = stage.play([step(stage, lost)])
    assert run.code == 2 and 'there is no namespace "nowhere-to-be-seen"' in run.messages, (
        run.messages
    )


def _awaited(look: Callable[[], Any]) -> Any:
    for _ in range(2000):
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come")
