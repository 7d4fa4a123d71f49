"""aws.key_pair: the public half of an SSH key."""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.aws.module_stage import AwsStage, keeps_its_promise


def new_key() -> str:
    return (
        Ed25519PrivateKey.generate()
        .public_key()
        .public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        .decode()
    )


def pair(key: str) -> dict[str, Any]:
    return {
        "name": "key",
        "aws.key_pair": {"name": "demo-key", "public_key": key},
        "register": "key",
    }


def test_a_key_pair_keeps_its_promise(stage: AwsStage) -> None:
    def foreign() -> None:
        stage.aws.client("ec2").import_key_pair(
            KeyName="demo-key", PublicKeyMaterial=new_key().encode()
        )

    keeps_its_promise(stage, pair(f"{new_key()} me@here"), pair(new_key()), foreign=foreign)


def test_another_comment_is_the_same_key(stage: AwsStage) -> None:
    key = new_key()
    assert stage.play([pair(f"{key} me@here")]).code == 0
    assert stage.play([pair(f"{key} me@there\n")]).changed == []


def test_a_private_key_is_refused_and_not_shown(stage: AwsStage) -> None:
    run = stage.play([pair("-----BEGIN OPENSSH PRIVATE KEY-----\nsecretsecret\n")])
    assert run.code in (2, 5) and "that ends in .pub" in run.messages + run.text
    assert "secretsecret" not in run.messages
    assert not stage.aws.calls("ImportKeyPair")
