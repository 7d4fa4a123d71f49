"""The guides' jobs are taken by an API server as they are: tried and created, under the operators'
definitions and under ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from playrunner.kube.client.client import MANAGER
from tests.launch.unit.cluster.facts.guides import JOBS
from tests.support.kube.addon_stage import ROOT, AddonStage
from tests.support.kube.definitions import (
    FILES,
    FOLDER,
    INDEXED,
    defined,
    minor_version,
    ours,
    theirs,
)
from tests.support.kube.webhook import Webhook
from tests.support.launch.rendering import rendered

OPERATORS = {"elasticjob": "elastic", "pytorchjob": "kubeflow", "vcjob": "volcano"}
NAMING = 25  # the minor version since which servers name unknown fields
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
LAUNCH = (
    "train.launch",
    "--profile",
    "gpt2-micro-smoke",
    "--launcher",
    "pytorchjob",
    "--nodes",
    1,
    "--detach",
)

needs_theirs = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the operators' own definitions are not at hand"
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("whose", [pytest.param("theirs", marks=needs_theirs), "ours"])
@pytest.mark.parametrize("role", FILES)
def test_every_job_is_taken_as_it_is_and_nothing_of_it_is_dropped(
    stage: AddonStage, role: str, whose: str
) -> None:
    namespace = stage.namespace()
    with defined(stage, [theirs(stage, role) if whose == "theirs" else ours(role)]):
        for guide in (guide for guide in JOBS if OPERATORS.get(_launcher(guide)) == role):
            for thing in rendered(JOBS[guide](namespace=namespace)).values():
                _is_taken(stage, thing, guide)


def test_jobs_that_need_no_operator_are_taken_as_they_are(stage: AddonStage) -> None:
    if minor_version(stage) < INDEXED:
        pytest.skip(f"Indexed Jobs came with 1.{INDEXED}; a launch on this server is refused")
    namespace = stage.namespace()
    for guide in (guide for guide in JOBS if _launcher(guide) not in OPERATORS):
        for thing in rendered(JOBS[guide](namespace=namespace)).values():
            _is_taken(stage, thing, guide)


@needs_theirs
@pytest.mark.parametrize(
    ("role", "guide", "path", "typo"),
    [
        ("volcano", "vcjob", ("spec",), "minimumAvailable"),
        ("kubeflow", "pytorchjob, elastic", ("spec", "elasticPolicy"), "rdzvName"),
        (
            "kubeflow",
            "pytorchjob",
            ("spec", "pytorchReplicaSpecs", "Worker", "template", "spec"),
            "nodeselector",
        ),
    ],
)
def test_a_field_that_an_operator_does_not_know_is_named(
    stage: AddonStage, role: str, guide: str, path: tuple[str, ...], typo: str
) -> None:
    if minor_version(stage) < NAMING:
        pytest.skip(f"servers before 1.{NAMING} drop unknown fields of custom kinds in silence")
    thing = next(
        one
        for kind, one in rendered(JOBS[guide](namespace=stage.namespace())).items()
        if kind != "ConfigMap"
    )
    _inside(thing, path)[typo] = 2
    with defined(stage, [theirs(stage, role)]):
        said = _apply(stage, thing)
        assert said["kind"] == "Status" and typo in said["message"], said
        assert stage.api.get(_place(thing)) is None


@pytest.mark.parametrize("role", FILES)
def test_our_definitions_spell_out_every_field_that_jobs_have(role: str) -> None:
    """They keep what they do not know, so a typo in a template would not be noticed; what templates
    write, they know."""
    (version,) = ours(role)["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for guide in (guide for guide in JOBS if OPERATORS.get(_launcher(guide)) == role):
        thing = next(one for kind, one in rendered(JOBS[guide]()).items() if kind != "ConfigMap")
        assert list(_unspelled(thing["spec"], schema)) == [], guide


def test_a_wrong_field_in_a_pod_is_named_before_anything_is_submitted(stage: AddonStage) -> None:
    """Our definitions leave pods open, and an operator silently drops such a field."""
    namespace = _ground(stage)
    with defined(stage, [ours("kubeflow")]):
        stage.variables["train_tolerations"] = [{"key": "dedicated", "operater": "Exists"}]
        refused = stage.invoke(*LAUNCH)
        assert (
            refused.code == 6 and "operater" in refused.text and "train_tolerations" in refused.text
        ), refused.text
        assert stage.objects("v1", "configmaps", "playrunner.io/training", namespace) == []
        assert (
            stage.objects("kubeflow.org/v1", "pytorchjobs", "", namespace)
            == stage.objects("v1", "pods", "", namespace)
            == []
        )
        stage.variables["train_tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        sound = stage.invoke(*LAUNCH)
        assert sound.code == 0, sound.text
        (there,) = stage.objects("kubeflow.org/v1", "pytorchjobs", "", namespace)
        assert there["metadata"]["labels"]["playrunner.io/training"] == "gpt2-micro-smoke"


def test_a_policy_against_pods_that_nobody_owns_does_not_stop_a_launch(stage: AddonStage) -> None:
    namespace = _ground(stage)
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["pods"],
        "operations": ["CREATE", "UPDATE"],
    }
    with (
        defined(stage, [ours("kubeflow")]),
        Webhook(allowed=False, message="pods need an owner") as webhook,
    ):
        stage.api.call(
            "POST",
            HOOKS,
            {
                "metadata": {"name": stage.own},
                "webhooks": [
                    {
                        "name": "owned.example.com",
                        "admissionReviewVersions": ["v1"],
                        "sideEffects": "None",
                        "failurePolicy": "Fail",
                        "namespaceSelector": {"matchLabels": {"own": stage.own}},
                        "rules": [rule],
                        "clientConfig": {"url": webhook.url, "caBundle": webhook.authority},
                    }
                ],
            },
        )
        stage.api.merge(
            f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {"own": stage.own}}}
        )
        try:
            bare = {
                "metadata": {"name": "bare"},
                "spec": {"containers": [{"name": "a", "image": "a"}]},
            }
            stage.awaited(
                lambda: (
                    "pods need an owner"
                    in str(
                        stage.api.call(
                            "POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", bare
                        )
                    )
                )
            )
            sound = stage.invoke(*LAUNCH)
        finally:
            stage.api.call("DELETE", f"{HOOKS}/{stage.own}")
        assert sound.code == 0, sound.text


def _ground(stage: AddonStage) -> str:
    """A namespace where a run has all that it needs."""
    namespace = stage.namespace()
    stage.claim(namespace, "data")
    stage.machine("a", "m5.large", {})
    stage.variables |= {
        "train_namespace": namespace,
        "train_claim": "data",
        "train_image": "registry.test/trainer:1",
        "train_node_selector": {"own": stage.own},
    }
    return namespace


def _inside(thing: Any, path: tuple[str, ...]) -> dict[str, Any]:
    for word in path:
        thing = thing[word]
    found: dict[str, Any] = thing
    return found


def _unspelled(value: Any, schema: Mapping[str, Any], path: str = "spec") -> Iterator[str]:
    """Fields that a schema with fields of its own only lets through; what it leaves open as a whole
    (pods) is Kubernetes' own."""
    known, others = schema.get("properties"), schema.get("additionalProperties")
    if isinstance(value, Mapping) and (known or others):
        for key, inner in value.items():
            within = (known or {}).get(key) or others
            if within:
                yield from _unspelled(inner, within, f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _unspelled(inner, schema["items"], f"{path}[{at}]")


def _launcher(guide: str) -> str:
    return guide.split()[0].rstrip(",")


def _is_taken(stage: AddonStage, thing: dict[str, Any], guide: str) -> None:
    """By a dry run that leaves nothing, by a creation, and as it is read back; then it goes again,
    for the next one's sake."""
    place = _place(thing)
    tried = _apply(stage, thing, "&dryRun=All")
    assert tried.get("kind") == thing["kind"], f"{guide}: {tried}"
    assert stage.api.get(place) is None, f"{guide}: a dry run left {place}"
    made = _apply(stage, thing)
    assert made.get("kind") == thing["kind"], f"{guide}: {made}"
    there = stage.api.get(place)
    assert list(_lost(thing, there)) == list(_lost(thing, tried)) == [], guide
    stage.api.call("DELETE", place, {"propagationPolicy": "Background"})
    stage.awaited(lambda: stage.api.get(place) is None)
    plain = stage.api.call("POST", f"{place.rpartition('/')[0]}?fieldValidation=Strict", thing)
    assert list(_lost(thing, plain)) == [], guide
    stage.api.call("DELETE", place, {"propagationPolicy": "Background"})
    stage.awaited(lambda: stage.api.get(place) is None)


def _apply(stage: AddonStage, thing: Mapping[str, Any], more: str = "") -> dict[str, Any]:
    """As k8s.manifest does."""
    query = f"fieldManager={MANAGER}&force=false&fieldValidation=Strict{more}"
    return dict(
        stage.api.call("PATCH", f"{_place(thing)}?{query}", thing, "application/apply-patch+yaml")
    )


def _place(thing: Mapping[str, Any]) -> str:
    version, meta = str(thing["apiVersion"]), thing["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}/namespaces/{meta['namespace']}/{str(thing['kind']).lower()}s/{meta['name']}"


def _lost(sent: Any, there: Any, path: str = "") -> Iterator[str]:
    """Every field that was sent and is not there, or is there with another value; what a server
    adds is no matter."""
    if isinstance(sent, Mapping) and isinstance(there, Mapping):
        for key, value in sent.items():
            if key in there:
                yield from _lost(value, there[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}: {value!r} was dropped"
    elif isinstance(sent, list) and isinstance(there, list) and len(sent) == len(there):
        for at, (one, other) in enumerate(zip(sent, there, strict=True)):
            yield from _lost(one, other, f"{path}[{at}]")
    elif sent != there:
        yield f"{path}: {sent!r} became {there!r}"
