"""ECR's own ways: a token that lasts some hours instead of a password, and a call of its own to
delete images."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("moto", reason="the pretend AWS needs moto: pip install playrunner[sandbox]")

from playrunner.aws.client import Account, Aws, AwsSettings
from playrunner.images.credentials import Credentials
from playrunner.images.reference import parse
from playrunner.images.settings import settings_of
from playrunner.modules.image.pushed import remove
from playrunner.sandbox.aws.api import process

REGISTRY = "123456789012.dkr.ecr.us-west-2.amazonaws.com"


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aws]:
    root = tmp_path_factory.mktemp("aws")
    up = process.up(root)
    yield Aws(
        Account(
            AwsSettings(up.region, "sandbox", str(process.credentials_file(root)), up.endpoint_url)
        )
    )
    process.down(root)


def test_its_token_is_asked_for_and_handed_to_the_builder(aws: Aws, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    found = Credentials(
        settings_of({"image_auth_file": str(file)}.get), REGISTRY, lambda: aws, lambda: None
    )

    login = found.of(REGISTRY)
    found.hand_over({REGISTRY, "docker.io"})

    assert login and login.user == "AWS" and login.secret
    assert json.loads(file.read_text())["auths"] == {REGISTRY: {"auth": login.coded}}


def test_an_image_is_deleted_by_its_tag_and_others_stay(aws: Aws) -> None:
    aws.call("ecr", "create_repository", repositoryName="demo")
    for tag in ("cpu-1", "cpu-2"):
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "layers": [],
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "size": 2,
                "digest": f"sha256:{tag:0>64}",
            },
        }
        aws.call(
            "ecr",
            "put_image",
            repositoryName="demo",
            imageManifest=json.dumps(manifest),
            imageTag=tag,
        )

    remove(SimpleNamespace(aws=aws), parse(f"{REGISTRY}/demo:cpu-1"), "")

    left = aws.read("ecr", "list_images", repositoryName="demo")["imageIds"]
    assert [one["imageTag"] for one in left] == ["cpu-2"]
