"""gcp.kubeconfig and its tokens: fresh for every call, from whichever credentials there are, and
never stored."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
from typing import Any

import yaml

from tests.support.aws.module_stage import keeps_its_promise
from tests.support.gcp.module_stage import GcpStage


def context(stage: GcpStage, **more: Any) -> dict[str, Any]:
    authority = base64.b64encode(b"authority").decode()
    given = {
        "name": "gke_demo",
        "endpoint": "203.0.113.10",
        "certificate_authority": authority,
        "path": str(stage.folder / "kubeconfig"),
        **more,
    }
    return {"name": "context", "gcp.kubeconfig": given}


def token_of(stage: GcpStage, **more: str) -> tuple[int, str, str]:
    assert stage.play([context(stage)], **more).code == 0
    content = yaml.safe_load((stage.folder / "kubeconfig").read_text())
    command = content["users"][0]["user"]["exec"]
    named = {one["name"]: one["value"] for one in command["env"]}
    environment = {
        **os.environ,
        **named,
        "GOOGLE_APPLICATION_CREDENTIALS": str(stage.folder / "none.json"),
    }
    ran = subprocess.run(
        [command["command"], *command["args"]],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_it_keeps_its_promise(stage: GcpStage) -> None:
    def foreign() -> None:
        theirs = {
            "contexts": [{"name": "gke_demo", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "gke_demo", "user": {"token": "theirs"}}],
        }
        (stage.folder / "kubeconfig").write_text(yaml.safe_dump(theirs))

    keeps_its_promise(stage, context(stage), context(stage, namespace="training"), foreign=foreign)


def test_the_token_is_made_for_each_call_holds_for_a_while_and_is_in_no_file(
    stage: GcpStage,
) -> None:
    code, out, err = token_of(stage)
    assert code == 0, err
    said = json.loads(out)["status"]
    assert (
        stage.gcp.ask("GET", "v1/projects/{p}/locations/-/clusters", token=said["token"])[0] == 200
    )
    assert said["expirationTimestamp"].endswith("Z")
    file = stage.folder / "kubeconfig"
    assert said["token"] not in file.read_text() and stat.S_IMODE(file.stat().st_mode) == 0o600


def test_another_account_is_asked_in_the_name_of_the_first(stage: GcpStage) -> None:
    code, out, err = token_of(
        stage, gcp_impersonate="trainer@sandbox-project.iam.gserviceaccount.com"
    )
    assert code == 0, err
    name = json.loads(out)["status"]["token"].split(".")[2]
    assert base64.urlsafe_b64decode(name + "==").decode().startswith("trainer@")


def test_missing_credentials_are_told_with_what_to_do(stage: GcpStage) -> None:
    code, out, err = token_of(stage, gcp_credentials_file="")
    assert (
        code == 1
        and not out
        and "gcloud auth application-default login" in err
        and "Traceback" not in err
    )


def test_the_client_is_not_loaded_before_it_is_needed() -> None:
    ran = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-c",
            "import playrunner.run.context, playrunner.modules.gcp.disk",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "google.auth" not in ran.stderr and " requests" not in ran.stderr
