"""The pretend Google Cloud answers tokens of its own sandbox alone, and gives them for a signed
assertion alone."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.sandbox.gcp import process
from playrunner.sandbox.gcp.auth import Entrance
from playrunner.sandbox.http import control_secret, jwt
from playrunner.sandbox.kube.wire import certificates
from tests.support.aws.signing import sent
from tests.support.gcp.sandbox import PretendGcp

PATHS = (
    "v1/projects/{p}/locations/-/clusters",
    "compute/v1/projects/{p}/zones/{z}/disks",
    "storage/v1/b?project={p}",
    "v1/projects/{p}/locations/-/repositories",
    "no/such/page",
)
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"


@pytest.fixture(scope="module")
def gcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendGcp]:
    root = tmp_path_factory.mktemp("gcp") / "sandbox"
    try:
        yield PretendGcp(root)
    finally:
        process.down(root)


def own_token(gcp: PretendGcp) -> str:
    return Path(gcp.up.token_file).read_text().strip()


def wrong_tokens(gcp: PretendGcp, folder: Path) -> list[str]:
    mine = Entrance(gcp.root / "gcp")
    (folder / "secret").write_text("of another sandbox")
    token = mine.token("a", time.time() + 60)
    return [
        "",
        "x",
        "ya29.x",
        "ya29.sandbox",
        "a.b.c",
        token[:-1],
        token.replace(".", "..", 1),
        mine.token("a", time.time() - 1),
        Entrance(folder).token("a", time.time() + 60),
        token.rpartition(".")[0],
        "ya29.sandbox.\xe9.1.\xe9",
    ]


@pytest.mark.parametrize("path", PATHS)
def test_a_wrong_token_is_refused_as_google_refuses_it(
    gcp: PretendGcp, path: str, tmp_path: Path
) -> None:
    for token in wrong_tokens(gcp, tmp_path):
        status, said = gcp.ask("GET", path, token=token)
        assert (status, said["error"]["status"]) == (401, "UNAUTHENTICATED"), token
    assert gcp.ask("GET", path)[0] != 401


def test_without_a_token_nothing_is_shown_and_nothing_made(gcp: PretendGcp) -> None:
    address = (
        f"{gcp.up.endpoint_url}/compute/v1/projects/{gcp.up.project}/zones/{gcp.up.zone}/disks"
    )
    assert (
        sent(address)[0]
        == sent(address, b'{"name": "mine", "sizeGb": "10"}', method="POST")[0]
        == 401
    )
    assert sent(address, headers={"Authorization": f"Basic {own_token(gcp)}"})[0] == 401
    assert "disks" not in gcp.everything()


def asserted(gcp: PretendGcp, assertion: str) -> tuple[int, Any]:
    form = urllib.parse.urlencode({"grant_type": GRANT, "assertion": assertion}).encode()
    status, text = sent(f"{gcp.up.endpoint_url}/token", form, method="POST")
    return status, json.loads(text)


def test_a_token_is_given_for_the_accounts_own_signature_alone(
    gcp: PretendGcp, tmp_path: Path
) -> None:
    key, now = gcp.root / "gcp" / "account.key", int(time.time())
    claims = {
        "iss": process.ACCOUNT,
        "aud": f"{gcp.up.endpoint_url}/token",
        "iat": now,
        "exp": now + 600,
    }
    status, answer = asserted(gcp, jwt.signed(claims, key))
    assert status == 200 and gcp.ask("GET", PATHS[0], token=answer["access_token"])[0] == 200
    certificates.signing_key(tmp_path / "other.key")
    good = jwt.signed(claims, key)
    head, body, signature = good.split(".")
    for wrong in (
        "",
        "a.b.c",
        jwt.signed(claims, tmp_path / "other.key"),
        f"{head}.{body}.",
        f"{head}.{body}x.{signature}",
        jwt.signed({**claims, "exp": now - 1}, key),
    ):
        status, answer = asserted(gcp, wrong)
        assert status == 400 and "access_token" not in answer


def test_googles_own_clients_are_let_in_by_the_accounts_file(gcp: PretendGcp) -> None:
    from google.auth.transport.requests import AuthorizedSession
    from google.oauth2.service_account import Credentials

    scope = ["https://www.googleapis.com/auth/cloud-platform"]
    account = json.loads(Path(gcp.up.credentials_file).read_text())
    session = AuthorizedSession(Credentials.from_service_account_info(account, scopes=scope))
    session.trust_env = False
    url = f"{gcp.up.endpoint_url}/storage/v1/b?project={gcp.up.project}"
    assert session.get(url, timeout=20).status_code == 200


def test_the_control_api_wants_its_secret_and_no_token_will_do(gcp: PretendGcp) -> None:
    for token in ("", "x", "\xe9", own_token(gcp)):
        for method, name in (
            ("GET", "health"),
            ("GET", "calls"),
            ("POST", "reset"),
            ("POST", "faults"),
            ("GET", "pools"),
        ):
            assert (
                gcp.ask(method, f"_sandbox/{name}", {} if method == "POST" else None, token=token)[
                    0
                ]
                == 401
            )
    assert gcp.control_response("GET", "health")[0] == 200
    secret = control_secret.header(gcp.root / "gcp")["Authorization"].removeprefix("Bearer ")
    assert gcp.ask("GET", PATHS[0], token=secret)[0] == 401, "nor does the secret open the cloud"


def test_a_stranger_uses_up_no_fault_and_fills_no_list(gcp: PretendGcp) -> None:
    gcp.control("DELETE", "calls")
    gcp.fault("error", status=500, times=1)
    assert gcp.ask("GET", PATHS[0], token="x")[0] == 401 and gcp.calls() == []
    assert gcp.ask("GET", PATHS[0])[0] == 500
    assert gcp.ask("GET", PATHS[0])[0] == 200


def test_the_real_gcloud_takes_the_token_from_its_file(gcp: PretendGcp) -> None:
    assert gcp.up.environment()["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"] == gcp.up.token_file
    assert "CLOUDSDK_AUTH_DISABLE_CREDENTIALS" not in gcp.up.environment()
    gcp.gcloud("container", "clusters", "list")
