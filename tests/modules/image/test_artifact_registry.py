"""Artifact Registry: whoever works in the project comes with an access token, unless docker's own
file knows better."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip(
    "google.auth", reason="Google Cloud needs google-auth: pip install playrunner[gcp]"
)

from playrunner.gcp.client import Gcp
from playrunner.gcp.project import Project
from playrunner.gcp.settings import GcpSettings
from playrunner.images import logins
from playrunner.images.credentials import Credentials
from playrunner.images.logins import Login
from playrunner.images.settings import settings_of
from playrunner.sandbox.gcp import process

REGISTRY = "us-central1-docker.pkg.dev"


@pytest.fixture(scope="module")
def gcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gcp]:
    root = tmp_path_factory.mktemp("gcp")
    up = process.up(root)
    yield Gcp(
        Project(GcpSettings(up.project, up.zone, "", up.credentials_file, "", up.endpoint_url))
    )
    process.down(root)


def found(gcp: Gcp, file: Path) -> Credentials:
    return Credentials(
        settings_of({"image_auth_file": str(file)}.get), REGISTRY, lambda: None, lambda: gcp
    )


def test_a_token_is_used_handed_to_the_builder_and_renewed(gcp: Gcp, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    logins.merge(file, REGISTRY, Login("oauth2accesstoken", "an hour old"))

    login = found(gcp, file).of(REGISTRY)
    found(gcp, file).hand_over({REGISTRY, "gcr.io"})

    assert login and login.user == "oauth2accesstoken" and login.secret not in ("", "an hour old")
    kept = logins.read(file, REGISTRY)
    assert kept and kept.user == "oauth2accesstoken" and kept.secret != "an hour old"
    assert logins.read(file, "gcr.io") is None


def test_a_key_in_dockers_file_is_better(gcp: Gcp, tmp_path: Path) -> None:
    file, key = tmp_path / "config.json", Login("_json_key", "{}")
    logins.merge(file, REGISTRY, key)

    assert found(gcp, file).of(REGISTRY) == key
