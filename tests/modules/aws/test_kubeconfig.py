"""aws.kubeconfig: one context in, the others as they were, and no token in it."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.aws.module_stage import AwsStage, keeps_its_promise

THEIRS = {
    "apiVersion": "v1",
    "kind": "Config",
    "preferences": {"colors": True},
    "current-context": "minikube",
    "clusters": [{"name": "minikube", "cluster": {"server": "https://10.0.0.1:8443"}}],
    "users": [
        {"name": "minikube", "user": {"client-certificate": "/home/me/.minikube/client.crt"}}
    ],
    "contexts": [
        {
            "name": "minikube",
            "context": {"cluster": "minikube", "user": "minikube", "namespace": "mine"},
        }
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kube" / "config"


def context(file: Path, **more: Any) -> dict[str, Any]:
    declared = {
        "name": "lab",
        "cluster": "lab",
        "endpoint": "https://one.eks.amazonaws.com",
        "path": str(file),
        "certificate_authority": "YXV0aG9yaXR5",
        **more,
    }
    return {"name": "context", "aws.kubeconfig": declared}


def test_it_keeps_its_promise(stage: AwsStage, file: Path) -> None:
    def foreign() -> None:
        file.parent.mkdir(exist_ok=True)
        file.write_text(
            yaml.safe_dump({**THEIRS, "users": [{"name": "lab", "user": {"token": "theirs"}}]})
        )

    keeps_its_promise(
        stage,
        context(file),
        context(file, endpoint="https://two.eks.amazonaws.com"),
        foreign=foreign,
    )


def test_other_contexts_are_left_as_they_are(stage: AwsStage, file: Path) -> None:
    file.parent.mkdir()
    file.write_text(yaml.safe_dump(THEIRS))
    assert stage.play([context(file, namespace="kubeflow")]).code == 0
    content = yaml.safe_load(file.read_text())
    assert content["current-context"] == "lab" and content["preferences"] == THEIRS["preferences"]
    for kind in ("clusters", "users", "contexts"):
        assert content[kind][0] == THEIRS[kind][0] and len(content[kind]) == 2
    assert content["contexts"][1]["context"] == {
        "cluster": "lab",
        "user": "lab",
        "namespace": "kubeflow",
    }
    assert stage.delete([context(file)]).code == 0
    left = yaml.safe_load(file.read_text())
    assert left == {key: value for key, value in THEIRS.items() if key != "current-context"}


def test_only_its_owner_can_read_it_and_no_lock_is_left(stage: AwsStage, file: Path) -> None:
    stage.play([context(file)])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [one.name for one in file.parent.iterdir()] == ["config"]
    stage.delete([context(file)])
    assert not file.exists()


def test_a_context_that_was_switched_away_from_is_not_switched_back(
    stage: AwsStage, file: Path
) -> None:
    stage.play([context(file)])
    file.write_text(file.read_text().replace("current-context: lab", "current-context: minikube"))
    assert not stage.play([context(file)]).changed


def test_a_file_that_is_no_kubeconfig_is_named_and_left_alone(stage: AwsStage, file: Path) -> None:
    file.parent.mkdir()
    file.write_text("clusters: [")
    run = stage.play([context(file)])
    assert run.code == 2 and str(file) in run.messages and file.read_text() == "clusters: ["


def test_a_file_that_another_program_writes_is_waited_for_and_then_named(
    stage: AwsStage, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playrunner.kube.kubeconfig.file.LOCK_SECONDS", 0.2)
    file.parent.mkdir()
    lock = Path(f"{file}.lock")
    lock.touch()
    run = stage.play([context(file)])
    assert run.code == 2 and str(lock) in run.messages and not file.exists()


def test_the_command_in_it_makes_a_token_from_anywhere(
    stage: AwsStage, file: Path, tmp_path: Path
) -> None:
    stage.play([context(file, profile="sandbox")])
    secret = stage.aws.up.secret_access_key
    command = yaml.safe_load(file.read_text())["users"][0]["user"]["exec"]
    keys = {"AWS_EC2_METADATA_DISABLED": "true"}
    told = {one["name"]: one["value"] for one in command["env"]}
    ran = subprocess.run(
        [command["command"], *command["args"]],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **keys, **told},
        timeout=60,
    )
    credential = json.loads(ran.stdout)
    assert credential["kind"] == "ExecCredential" and credential["status"][
        "expirationTimestamp"
    ].endswith("Z")
    token = credential["status"]["token"]
    assert token.startswith("k8s-aws-v1.")
    inner = token.removeprefix("k8s-aws-v1.")
    url = base64.urlsafe_b64decode(inner + "=" * (-len(inner) % 4)).decode()
    assert url.startswith(
        "https://sts.us-west-2.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15"
    )
    assert "x-k8s-aws-id" in url and "X-Amz-Expires=60" in url and secret not in url + ran.stderr


def test_without_credentials_the_command_says_so_in_one_line(tmp_path: Path) -> None:
    home = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "playrunner.eks_token", "--cluster", "lab", "--region", "us-west-2"],
        capture_output=True,
        text=True,
        check=False,
        env=home,
        timeout=60,
    )
    assert (
        ran.returncode == 1
        and ran.stdout == ""
        and "no token for lab" in ran.stderr
        and "Traceback" not in ran.stderr
    )
