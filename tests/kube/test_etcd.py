"""etcd: the meeting place of elastic jobs."""

from __future__ import annotations

import pytest
import yaml

from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import ROOT, container_of, rendered


@pytest.mark.parametrize(
    ("shape", "services", "deployment"),
    [
        (
            {
                "etcd_namespace": "elastic-job",
                "etcd_name": "etcd-deployment",
                "etcd_services": ["etcd-service"],
            },
            ["etcd-service"],
            "etcd-deployment",
        ),
        ({"etcd_services": ["etcd-server", "etcd-client"]}, ["etcd-server", "etcd-client"], "etcd"),
        ({}, ["etcd-service"], "etcd"),
    ],
)
def test_it_has_every_shape_of_the_guides(
    shape: dict[str, object], services: list[str], deployment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    body, *others = yaml.safe_load_all(rendered("etcd", ["eks-gpu"], **shape))
    assert (body["kind"], body["metadata"]["name"]) == ("Deployment", deployment)
    assert [(one["kind"], one["metadata"]["name"]) for one in others] == [
        ("Service", name) for name in services
    ]
    for one in others:
        assert (
            one["spec"]["selector"]
            == {"app": "etcd"}
            == body["spec"]["template"]["metadata"]["labels"]
        )
        assert [port["port"] for port in one["spec"]["ports"]] == [2379, 2380]
    words = container_of(body)["command"]
    assert {
        "--enable-v2=true",
        "--data-dir=/var/lib/etcd",
        "--listen-client-urls=http://0.0.0.0:2379",
    } <= set(words)
    assert container_of(body)["image"] == "quay.io/coreos/etcd:v3.5.26", "3.6 has no v2 API"
    assert container_of(body)["readinessProbe"]["httpGet"] == {"path": "/health", "port": 2379}


def test_it_comes_is_found_by_its_services_and_goes(stage: AddonStage) -> None:
    home = stage.namespace()
    wanted = {"etcd_namespace": home, "etcd_services": ["etcd-server", "etcd-client"]}
    made = stage.create("etcd", **wanted)
    assert made.code == 0, made.messages
    stage.awaited(
        lambda: (stage.object("v1", "endpoints", "etcd-client", home) or {}).get("subsets")
    )
    assert stage.create("etcd", **wanted).changed == []
    fewer = stage.create("etcd", **{**wanted, "etcd_services": ["etcd-server"]})
    assert fewer.code == 0 and fewer.changed == ["etcd : etcd store"], fewer.messages
    assert stage.object("v1", "services", "etcd-client", home) is None, (
        "what is not declared any more goes"
    )
    assert stage.delete("etcd", **wanted).code == 0
    assert stage.object("apps/v1", "deployments", "etcd", home) is None


def test_without_its_namespace_the_error_names_it(stage: AddonStage) -> None:
    made = stage.create("etcd", etcd_namespace="elastic-job-of-nobody")
    assert made.code == 2 and 'there is no namespace "elastic-job-of-nobody"' in made.messages, (
        made.messages
    )


def test_a_namespace_stuck_on_a_finalizer_is_explained_when_a_role_wants_in(
    stage: AddonStage,
) -> None:
    home = stage.namespace()
    held = {"metadata": {"name": "held", "finalizers": ["example.com/guard"]}}
    assert (
        stage.api.call("POST", f"/api/v1/namespaces/{home}/configmaps", held)["kind"] == "ConfigMap"
    )
    stage.api.call("DELETE", f"/api/v1/namespaces/{home}")
    stage.awaited(
        lambda: stage.object("v1", "namespaces", home)["status"]["phase"] == "Terminating"
    )
    try:
        made = stage.create("etcd", etcd_namespace=home, etcd_timeout=2)
        assert made.code == 2 and home in made.messages and "being terminated" in made.messages, (
            made.messages
        )
    finally:
        stage.api.merge(
            f"/api/v1/namespaces/{home}/configmaps/held", {"metadata": {"finalizers": None}}
        )
