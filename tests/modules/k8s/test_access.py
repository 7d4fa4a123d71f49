"""How a cluster is reached: contexts, tokens from commands, a pod's own account, and the way
through a host."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.errors import BadInput
from playrunner.kube.client import config as kube_config
from playrunner.kube.client.config import KubeSettings, access
from tests.modules.k8s.test_manifest import config, path, step
from tests.support.kube.module_stage import KubeStage
from tests.support.sshd import NodeSet


def kubeconfig(file: Path, current: str = "one", **users: Any) -> Path:
    content = {
        "current-context": current,
        "clusters": [
            {"name": name, "cluster": {"server": f"https://{name}:6443"}} for name in users
        ],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": name, "namespace": f"ns-{name}"}}
            for name in users
        ],
    }
    file.write_text(yaml.safe_dump(content))
    return file


def test_a_context_is_the_current_one_or_the_one_that_is_named(tmp_path: Path) -> None:
    file = kubeconfig(
        tmp_path / "config", one={"token": "t1"}, two={"username": "me", "password": "pw"}
    )
    found = access(KubeSettings(str(file)))
    assert (found.server, found.namespace, found.credentials.authorization()) == (
        "https://one:6443",
        "ns-one",
        "Bearer t1",
    )
    assert access(KubeSettings(str(file), "two")).credentials.authorization() == "Basic bWU6cHc="
    with pytest.raises(BadInput, match='no context "three"; there are: one, two'):
        access(KubeSettings(str(file), "three"))


def test_several_files_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = kubeconfig(tmp_path / "a", one={"token": "first"})
    second = kubeconfig(tmp_path / "b", "two", one={"token": "second"}, two={"token": "t2"})
    monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path}/missing:{second}")
    assert access(KubeSettings()).credentials.authorization() == "Bearer first"
    assert access(KubeSettings(context="two")).credentials.authorization() == "Bearer t2"


@pytest.mark.parametrize("text", ["{", "- a", "clusters: 7", "current-context: x"])
def test_a_file_that_is_no_kubeconfig_is_bad_input(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(BadInput, match="config"):
        access(KubeSettings(str(tmp_path / "config")))


def test_without_any_file_the_next_step_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(BadInput, match=r"aws\.kubeconfig"):
        access(KubeSettings())


def test_inside_a_pod_its_account_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("token", "pod-token"), ("ca.crt", "PEM"), ("namespace", "jobs")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(kube_config, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    found = access(KubeSettings())
    assert (found.server, found.namespace, found.credentials.authorization()) == (
        "https://10.0.0.1:443",
        "jobs",
        "Bearer pod-token",
    )


def command(tmp_path: Path, seconds: float, token: str = "exec-{n}") -> dict[str, Any]:
    """One that counts how often it is asked."""
    until = (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    script = (
        f"import json, pathlib\nfile = pathlib.Path({str(tmp_path / 'count')!r})\n"
        "n = int(file.read_text() or 0) + 1 if file.exists() else 1\nfile.write_text(str(n))\n"
        f"print(json.dumps({{'kind': 'ExecCredential', 'status': {{'token': {token!r}.format(n=n),"
        f" 'expirationTimestamp': {until!r}}}}}))\n"
    )
    return {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": sys.executable,
        "args": ["-c", script],
    }


def test_a_token_command_is_asked_again_when_its_token_runs_out(tmp_path: Path) -> None:
    lasting = access(
        KubeSettings(str(kubeconfig(tmp_path / "a", one={"exec": command(tmp_path, 600)})))
    ).credentials
    assert [lasting.authorization(), lasting.authorization()] == ["Bearer exec-1", "Bearer exec-1"]
    assert lasting.renew() and lasting.authorization() == "Bearer exec-2"
    short = access(
        KubeSettings(str(kubeconfig(tmp_path / "b", one={"exec": command(tmp_path, 30)})))
    ).credentials
    assert [short.authorization(), short.authorization()] == ["Bearer exec-3", "Bearer exec-4"]


def test_a_token_command_that_fails_is_told_in_its_words(tmp_path: Path) -> None:
    entry = {"command": "sh", "args": ["-c", "echo log in first >&2; exit 1"]}
    with pytest.raises(BadInput, match="log in first"):
        access(
            KubeSettings(str(kubeconfig(tmp_path / "a", one={"exec": entry})))
        ).credentials.authorization()


def test_a_token_that_is_not_taken_any_more_is_renewed_in_the_middle(stage: KubeStage) -> None:
    content = yaml.safe_load(stage.api.kubeconfig.read_text())
    token = content["users"][0]["user"]["token"]
    entry = command(stage.folder, 600)
    entry["args"][1] = entry["args"][1].replace(
        "'exec-{n}'.format(n=n)", f"('old' if n == 1 else {token!r})"
    )
    content["users"][0]["user"] = {"exec": entry}
    file = stage.folder / "exec.yaml"
    file.write_text(yaml.safe_dump(content))
    made = stage.play([step(stage, config("one", a="1"))], kubeconfig=str(file))
    assert made.code == 0 and stage.api.get(path(stage, "one")), made.messages
    content["users"][0]["user"] = {"token": "wrong"}
    file.write_text(yaml.safe_dump(content))
    refused = stage.play([step(stage, config("one", a="1"))], kubeconfig=str(file))
    assert (
        refused.code == 2 and "(401)" in refused.messages and "log in again" in refused.messages
    ), refused.messages


def test_a_server_with_another_certificate_is_not_trusted(stage: KubeStage) -> None:
    content = yaml.safe_load(stage.api.kubeconfig.read_text())
    del content["clusters"][0]["cluster"]["certificate-authority-data"]
    file = stage.folder / "strange.yaml"
    file.write_text(yaml.safe_dump(content))
    refused = stage.play([step(stage, config("one"))], kubeconfig=str(file))
    assert refused.code == 4 and "its certificate is not the one" in refused.messages, (
        refused.messages
    )


def test_a_private_server_is_reached_through_a_host(stage: KubeStage, nodes: NodeSet) -> None:
    """The server's name stays the one in the kubeconfig; only the way is another."""
    inventory = json.loads(
        json.dumps(yaml.safe_load(Path(nodes.inventory(stage.folder)).read_text()))
    )
    inventory.setdefault("all", {}).setdefault("vars", {}).update(
        {**stage.variables, "kube_via": "node1"}
    )
    file = stage.folder / "through.yaml"
    file.write_text(yaml.safe_dump(inventory))
    stage._inventory = lambda variables: str(file)  # type: ignore[method-assign]
    started = time.monotonic()
    made = stage.play([step(stage, *(config(f"c{number}") for number in range(30)))])
    assert made.code == 0 and stage.api.get(path(stage, "c29")), made.messages
    assert (
        stage.play([step(stage, *(config(f"c{number}") for number in range(30)))]).statuses["set"]
        == "ok"
    )
    assert time.monotonic() - started < 30
