"""The Kubernetes API answers those alone who show who they are: tokens and certificates of its own
sandbox."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import botocore.auth
import pytest

from playrunner.sandbox.aws.api import process as aws_process
from playrunner.sandbox.gcp.auth import Entrance
from playrunner.sandbox.http import jwt
from playrunner.sandbox.kube.http import kubelet
from playrunner.sandbox.kube.http.cloud_tokens import CloudTokens
from playrunner.sandbox.kube.operators.listener import Listener
from playrunner.sandbox.kube.store import accounts
from playrunner.sandbox.kube.wire import certificates
from tests.support.aws.sandbox import PretendAws
from tests.support.kube.callers import (
    NODES,
    api,  # noqa: F401
    code,
    kubectl,
    made,
    root,  # noqa: F401
    shakes_hands,
)
from tests.support.kube.client import Client

ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


@pytest.mark.parametrize(
    "path",
    [NODES, "/api", "/apis", "/openapi/v2", "/openapi/v3", "/", "/_sandbox/faults", "/metrics"],
)
def test_without_a_token_or_with_a_wrong_one_nothing_is_shown(api: Client, path: str) -> None:
    for token in (
        "",
        "wrong",
        api.token[:-1],
        f"{api.token}x",
        "a.b.c",
        "k8s-aws-v1.",
        "ya29.sandbox.x.9999999999.0",
    ):
        assert code(api, token, path) == 401


def test_only_health_and_version_are_shown_to_all(api: Client) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/readyz/ping", "/version"):
        assert code(api, "", path) == 200


def test_a_token_of_eks_opens_when_the_sandboxs_key_signed_it_for_a_cluster_that_is_there(
    root: Path, api: Client
) -> None:
    assert code(api, made(root)) == 200
    assert code(api, made(root, secret="wrong")) == 401
    assert code(api, made(root, key="AKIASANDBOX000000000", secret="any")) == 401
    assert code(api, made(root, cluster="another")) == 401


def test_a_token_of_eks_that_was_altered_or_is_old_is_refused(
    root: Path, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = base64.urlsafe_b64decode(made(root).removeprefix("k8s-aws-v1.") + "==").decode()

    def altered(old: str, new: str) -> str:
        assert old in text
        return "k8s-aws-v1." + base64.urlsafe_b64encode(
            text.replace(old, new, 1).encode()
        ).decode().rstrip("=")

    assert code(api, altered("https://", "https://")) == 200
    assert code(api, altered("Action=GetCallerIdentity", "Action=AssumeRole")) == 401
    assert code(api, altered("sts.", "elsewhere.")) == 401
    assert code(api, altered("x-k8s-aws-id", "x-other")) == 401
    assert code(api, altered("X-Amz-Expires=60", "X-Amz-Expires=61")) == 401
    assert code(api, altered("X-Amz-Signature=", "X-Amz-Signature=0")) == 401
    assert code(api, altered("&X-Amz-Signature=", "&Extra=1&X-Amz-Signature=")) == 401
    for minutes, expected in ((14, 200), (16, 401)):
        then = datetime.now(UTC) - timedelta(minutes=minutes)
        monkeypatch.setattr(
            botocore.auth, "get_current_datetime", lambda then=then: then.replace(tzinfo=None)
        )
        assert code(api, made(root)) == expected


def test_a_role_makes_tokens_with_its_own_keys(root: Path, api: Client) -> None:
    cloud = PretendAws(root)
    role = cloud.role("worker", "ec2.amazonaws.com")
    given = cloud.client("sts").assume_role(RoleArn=role, RoleSessionName="session")["Credentials"]
    keys = {"key": given["AccessKeyId"], "secret": given["SecretAccessKey"]}
    assert code(api, made(root, **keys, session=given["SessionToken"])) == 200
    assert code(api, made(root, **keys)) == 401


def test_a_token_of_the_real_aws_command_opens(root: Path, api: Client) -> None:
    places = [
        str(Path(__file__).parents[3] / ".venv-aws" / "bin"),
        str(Path(sys.executable).parent),
        os.environ.get("PATH", ""),
    ]
    program, aws = shutil.which("aws", path=os.pathsep.join(places)), aws_process.status(root)
    if program is None or aws is None:
        pytest.skip("the aws CLI is not installed: make test-cloud installs it")
    for secret, expected in ((aws.secret_access_key, 200), ("wrong", 401)):
        environment = {**os.environ, **aws.environment(), "AWS_SECRET_ACCESS_KEY": secret}
        command = [program, "eks", "get-token", "--cluster-name", "demo"]
        ran = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        assert code(api, json.loads(ran.stdout)["status"]["token"]) == expected


def test_a_token_of_google_opens_until_it_ends_and_when_this_sandbox_gave_it(
    root: Path, api: Client, tmp_path: Path
) -> None:
    mine = Entrance(root / "gcp")
    assert code(api, mine.token("a", time.time() + 60)) == 200
    assert code(api, mine.token("a", time.time() - 1)) == 401
    (tmp_path / "secret").write_text("of another sandbox")
    assert code(api, Entrance(tmp_path).token("a", time.time() + 60)) == 401
    assert code(api, mine.token("a", time.time() + 60)[:-1]) == 401


def test_tokens_of_another_sandbox_are_unknown(root: Path, tmp_path: Path) -> None:
    assert not CloudTokens(tmp_path).knows(made(root))
    assert not CloudTokens(tmp_path).knows(Entrance(root / "gcp").token("a", time.time() + 60))
    assert CloudTokens(root).knows(made(root))


def given_token(api: Client, **spec: Any) -> str:
    return str(api.ok("POST", f"{ACCOUNT}/token", {"spec": spec})["status"]["token"])


def test_a_service_accounts_token_is_signed_and_known_again(root: Path, api: Client) -> None:
    token = given_token(api)
    head, claims, signature = token.split(".")
    assert code(api, token) == 200
    content = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert content["sub"] == "system:serviceaccount:default:default"
    other = {**content, "sub": "system:serviceaccount:kube-system:default"}
    forged = base64.urlsafe_b64encode(json.dumps(other).encode()).decode().rstrip("=")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    for wrong in (
        f"{head}.{forged}.{signature}",
        f"{unsigned}.{claims}.",
        f"{head}.{claims}.",
        f"{head}.{claims}.AAAA",
    ):
        assert code(api, wrong) == 401
    assert code(api, given_token(api, audiences=["sts.amazonaws.com"])) == 401, (
        "it is meant for another"
    )
    key = root / "kube" / accounts.KEY
    assert code(api, jwt.signed({**content, "exp": int(time.time()) - 1}, key)) == 401
    assert (
        code(
            api,
            jwt.signed(
                {
                    **content,
                    "kubernetes.io": {
                        "namespace": "default",
                        "serviceaccount": {"name": "default", "uid": "of one that was deleted"},
                    },
                },
                key,
            ),
        )
        == 401
    )


def test_another_clusters_signature_is_none_of_ours(api: Client, tmp_path: Path) -> None:
    certificates.signing_key(tmp_path / "other.key")
    claims = json.loads(base64.urlsafe_b64decode(given_token(api).split(".")[1] + "=="))
    assert code(api, jwt.signed(claims, tmp_path / "other.key")) == 401


def test_a_token_review_tells_the_truth(api: Client) -> None:
    for token, known in (
        (api.token, True),
        (given_token(api), True),
        ("wrong", False),
        ("", False),
    ):
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        said = api.ok("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
        assert said["status"]["authenticated"] is known


def test_kubectl_is_let_in_by_the_administrators_certificate_alone(
    root: Path, tmp_path: Path
) -> None:
    own = root / "kube"

    def ran(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
        return kubectl(
            root,
            tmp_path,
            {"client-certificate": f"{folder}/{name}.crt", "client-key": f"{folder}/{name}.key"},
        )

    assert "namespace/default" in ran(own, "admin").stdout
    assert ran(own, "server").returncode == 1, "it is the authority's, and of no group"
    certificates.authority(tmp_path / "ca").issue("admin", groups=("system:masters",))
    assert ran(tmp_path / "ca", "admin").returncode == 1, "another authority's"
    assert kubectl(root, tmp_path, {"token": "wrong"}).returncode == 1


def test_kubelet_and_webhooks_answer_the_api_server_alone(root: Path, tmp_path: Path) -> None:
    folder, other = root / "kube", tmp_path / "other"
    certificates.authority(other).issue("server")
    served = tmp_path / "served"
    certificates.authority(served).issue("tls")
    world: Any = type("World", (), {"folder": folder})()
    one = kubelet.Kubelet(None, lambda namespace, name: None, folder)  # type: ignore[arg-type]
    two = Listener(world, {}, ("127.0.0.1", 0), served)
    for server in (one, two):
        server.start()
        try:
            assert shakes_hands(server.server_address, folder)
            assert not shakes_hands(server.server_address, None) and not shakes_hands(
                server.server_address, other
            )
        finally:
            server.shutdown()
            server.server_close()


def test_no_secret_stands_in_a_command_line_or_a_log(root: Path, api: Client) -> None:
    from playrunner.sandbox import state

    assert code(api, made(root)) == 200
    shown = " ".join(state.commands().values()) + (root / "kube" / "log").read_text()
    secrets = [
        api.token,
        (root / "gcp" / "secret").read_text().strip(),
        (root / "gcp" / "token").read_text().strip(),
    ]
    assert not [one for one in secrets if one in shown]
