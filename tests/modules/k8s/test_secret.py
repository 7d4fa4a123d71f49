"""k8s.secret: values get there, and nowhere else."""

from __future__ import annotations

import base64
from typing import Any

from tests.support.kube.module_stage import KubeStage


def secret(stage: KubeStage, **arguments: Any) -> dict[str, Any]:
    return {
        "name": "secret",
        "k8s.secret": {"name": "login", "namespace": stage.namespace, **arguments},
    }


def held(stage: KubeStage) -> dict[str, str]:
    found = stage.api.get(f"/api/v1/namespaces/{stage.namespace}/secrets/login")
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


def test_a_secret_is_made_kept_mended_and_taken_away_without_being_shown(stage: KubeStage) -> None:
    one = [secret(stage, data={"user": "me", "password": "hunter2"})]
    assert stage.play(one, check=True).statuses["secret"] == "changed"
    made = stage.play(one, diff=True)
    assert made.code == 0 and made.statuses["secret"] == "changed", made.messages
    assert held(stage) == {"user": "me", "password": "hunter2"}
    assert stage.play(one).statuses["secret"] == "ok"
    other = [secret(stage, data={"password": "better3"})]
    mended = stage.play(other, diff=True)
    assert mended.statuses["secret"] == "changed" and held(stage) == {"password": "better3"}, (
        mended.messages
    )
    for run in (made, mended):
        assert not any(
            word in run.text for word in ("hunter2", "better3", "aHVudGVyMg", "YmV0dGVyMw")
        )
    assert stage.delete(other).code == 0
    assert stage.api.get(f"/api/v1/namespaces/{stage.namespace}/secrets/login") is None


def test_a_value_is_made_up_once(stage: KubeStage) -> None:
    one = [secret(stage, generate={"password": 24}, data={"user": "me"})]
    assert stage.play(one).statuses["secret"] == "changed"
    first = held(stage)
    assert len(first["password"]) == 24
    assert stage.play(one).statuses["secret"] == "ok"
    assert (
        stage.play([secret(stage, generate={"password": 24}, data={"user": "you"})]).statuses[
            "secret"
        ]
        == "changed"
    )
    assert held(stage) == {"password": first["password"], "user": "you"}


def test_another_s_secret_is_refused(stage: KubeStage) -> None:
    stage.api.call(
        "POST",
        f"/api/v1/namespaces/{stage.namespace}/secrets",
        {"metadata": {"name": "login"}, "data": {}},
    )
    refused = stage.play([secret(stage, data={"a": "b"})])
    assert refused.code == 2 and "is not tagged" in refused.messages
    assert not stage.delete([secret(stage, data={"a": "b"})]).gone
