"""tensorboard: the runs on a claim, shown behind a password."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import ROOT, container_of, rendered


def bodies(**known: Any) -> dict[tuple[str, str], dict[str, Any]]:
    found = yaml.safe_load_all(rendered("tensorboard", ["eks-trainium"], **known))
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_it_has_the_names_of_the_guides_and_no_way_around_the_password(at_home: None) -> None:
    found = bodies()
    assert set(found) == {
        ("ConfigMap", "tensorboard-gate"),
        ("Deployment", "tensorboard-deployment"),
        ("Service", "tensorboard-service"),
    }
    board = found["Deployment", "tensorboard-deployment"]
    assert board["spec"]["replicas"] == 2
    assert board["spec"]["template"]["metadata"]["labels"] == {"app": "tensorboard-app"}
    assert container_of(board)["command"] == [
        "tensorboard",
        "--logdir",
        "/data/runs",
        "--host",
        "127.0.0.1",
        "--port",
        "6006",
    ]
    ports = {
        port["port"]: port["targetPort"]
        for port in found["Service", "tensorboard-service"]["spec"]["ports"]
    }
    assert ports == {80: 8080, 6006: 8080}, "both lead to the gate"
    assert found["Service", "tensorboard-service"]["spec"]["type"] == "ClusterIP"
    assert "auth_basic_user_file" in found["ConfigMap", "tensorboard-gate"]["data"]["default.conf"]


def test_a_load_balancer_has_tls_where_there_is_a_certificate(at_home: None) -> None:
    outside = ("Service", "tensorboard-ext-loadbalancer")
    plain = bodies(tensorboard_expose="load_balancer")[outside]
    assert plain["spec"]["type"] == "LoadBalancer" and plain["spec"]["ports"][0]["port"] == 80
    arn = "arn:aws:acm:us-west-2:123456789012:certificate/x"
    ended = bodies(tensorboard_expose="load_balancer", tensorboard_certificate_arn=arn)[outside]
    assert ended["spec"]["ports"][0]["port"] == 443
    assert (
        ended["metadata"]["annotations"]["service.beta.kubernetes.io/aws-load-balancer-ssl-cert"]
        == arn
    )
    gate = bodies(tensorboard_expose="load_balancer", tensorboard_tls_secret="own-tls")
    assert gate[outside]["spec"]["ports"][0]["port"] == 443
    assert "listen 8080 ssl" in gate["ConfigMap", "tensorboard-gate"]["data"]["default.conf"]


def test_it_comes_with_a_password_that_nobody_sees_and_goes(stage: AddonStage) -> None:
    home = stage.namespace()
    stage.claim(home, "runs")
    wanted = {"tensorboard_namespace": home, "tensorboard_claim": "runs", "tensorboard_replicas": 1}
    made = stage.create("tensorboard", **wanted)
    assert made.code == 0, made.messages
    password = base64.b64decode(
        stage.object("v1", "secrets", "tensorboard-password", home)["data"]["password"]
    ).decode()
    assert len(password) == 24
    again = stage.create("tensorboard", **wanted)
    assert again.changed == [] and password not in made.text + again.text
    assert (
        base64.b64decode(
            stage.object("v1", "secrets", "tensorboard-password", home)["data"]["password"]
        ).decode()
        == password
    )
    assert (
        "port-forward service/tensorboard-service"
        in made.values["tensorboard : how to open tensorboard"]["msg"]
    )
    assert stage.delete("tensorboard", **wanted).code == 0
    assert stage.object("v1", "secrets", "tensorboard-password", home) is None
    assert stage.object("apps/v1", "deployments", "tensorboard-deployment", home) is None
    assert stage.object("v1", "persistentvolumeclaims", "runs", home), (
        "the runs are not ours to delete"
    )


def test_in_the_open_without_tls_it_warns(stage: AddonStage) -> None:
    seen = stage.create("tensorboard", check=True, tensorboard_expose="load_balancer")
    assert "WARNING" in seen.values["tensorboard : tensorboard without TLS"]["msg"]
    safe = stage.create(
        "tensorboard",
        check=True,
        tensorboard_expose="load_balancer",
        tensorboard_tls_secret="own-tls",
    )
    assert safe.statuses["tensorboard : tensorboard without TLS"] == "skipped"
    wrong = stage.create("tensorboard", check=True, tensorboard_expose="everywhere")
    assert wrong.code == 2 and '"cluster" or "load_balancer", not "everywhere"' in wrong.messages
