"""A Google Cloud that answers rubbish cannot be reached, and nothing of it is believed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.text.answers import BadAnswer
from tests.support.security.rubbish import RUBBISH, Said, Server, said, serving

pytest.importorskip("google.auth")

from playrunner.gcp.client import Gcp
from playrunner.gcp.project import Project
from playrunner.gcp.settings import GcpSettings
from tests.support.security.plain_errors import assert_plain


@pytest.fixture(scope="module")
def service_account() -> dict[str, str]:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65537, 2048).private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
    return {
        "type": "service_account",
        "project_id": "p",
        "private_key": key.decode(),
        "client_email": "a@p.example",
        "private_key_id": "1",
    }


def gcp_at(url: str, folder: Path, service_account: dict[str, str], token_url: str = "") -> Gcp:
    file = folder / "account.json"
    file.write_text(json.dumps({**service_account, "token_uri": token_url or f"{url}/token"}))
    return Gcp(
        Project(GcpSettings("p", "us-central1-a", credentials_file=str(file), endpoint_url=url)),
        sleep=lambda seconds: None,
    )


@pytest.fixture
def tokens() -> Iterator[Server]:
    with serving(
        said({"access_token": "secret-token", "expires_in": 3600, "token_type": "Bearer"})
    ) as server:
        yield server


@pytest.mark.parametrize("asked", ["read", "listing", "call"])
@pytest.mark.parametrize("answer", RUBBISH)
def test_every_call_to_a_google_cloud_that_answers_rubbish_says_so(
    asked: str, answer: str, tmp_path: Path, tokens: Server, service_account: dict[str, str]
) -> None:
    if answer == "an empty mapping":
        pytest.skip("Google's way to say that a list has nothing")
    with serving(RUBBISH[answer]) as server, pytest.raises(BadAnswer) as caught:
        gcp = gcp_at(server.url, tmp_path, service_account, tokens.url)
        if asked == "read":
            gcp.read("container", "projects/p/locations/z/clusters/c")["name"]
        elif asked == "listing":
            gcp.listing("compute", "projects/p/zones/z/disks", "items")
        else:
            gcp.call("POST", "compute", "projects/p/zones/z/disks", {})["name"]
    assert_plain(caught.value)


@pytest.mark.parametrize("answer", RUBBISH)
def test_a_token_address_that_answers_rubbish_is_no_traceback(
    answer: str, tmp_path: Path, service_account: dict[str, str]
) -> None:
    from playrunner.errors import PlayrunnerError

    with serving(RUBBISH[answer]) as server, pytest.raises(PlayrunnerError) as caught:
        gcp_at(server.url, tmp_path, service_account).read(
            "container", "projects/p/locations/z/clusters/c"
        )
    assert_plain(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": 5},
        {"resourceLabels": []},
        {"nodePools": [{"config": "n1"}]},
        {"nodePools": {"a": 1}},
        {"status": {}},
        {"error": "broken"},
        {"locations": "here"},
        {"autoscaling": {"enabled": "yes"}},
    ],
)
def test_a_field_of_another_type_from_google_is_not_believed(
    wrong: dict[str, Any], tmp_path: Path, tokens: Server, service_account: dict[str, str]
) -> None:
    with (
        serving(said(wrong)) as server,
        pytest.raises(BadAnswer, match="something else than was asked for"),
    ):
        gcp_at(server.url, tmp_path, service_account, tokens.url).read(
            "container", "projects/p/locations/z/clusters/c"
        )


def test_a_token_does_not_follow_a_redirect_to_another_host(
    tmp_path: Path, tokens: Server, service_account: dict[str, str]
) -> None:
    with (
        serving(said({})) as other,
        serving(Said(b"", status=307, headers={"Location": other.url})) as server,
    ):
        with pytest.raises(BadAnswer):
            gcp_at(server.url, tmp_path, service_account, tokens.url).read(
                "container", "projects/p/locations/z/clusters/c"
            )
        assert other.asked == []
