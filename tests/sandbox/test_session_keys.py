"""Keys that the pretend AWS gives out: of roles, sessions and users, and when they end."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.aws.sandbox import PretendAws, refused
from tests.support.aws.signing import client, sent
from tests.support.until import until


def test_a_role_is_assumed_with_keys_of_its_own_that_end(aws: PretendAws) -> None:
    arn = aws.role("worker", "ec2.amazonaws.com")
    first, second = (
        aws.client("sts").assume_role(RoleArn=arn, RoleSessionName=name)["Credentials"]
        for name in ("first", "second")
    )
    keys = first["AccessKeyId"], first["SecretAccessKey"]
    assert (
        "assumed-role/worker/first"
        in client(aws, "sts", *keys, first["SessionToken"]).get_caller_identity()["Arn"]
    )
    for token in (None, second["SessionToken"], first["SessionToken"] + "x"):
        assert (
            refused(client(aws, "sts", *keys, token).get_caller_identity) == "InvalidClientTokenId"
        )
    wrong = client(aws, "sts", keys[0], second["SecretAccessKey"], first["SessionToken"])
    assert refused(wrong.get_caller_identity) == "SignatureDoesNotMatch"


@pytest.mark.parametrize("ask", ["get_session_token", "assume_role"])
def test_keys_of_a_session_hold_no_longer_than_it(aws: PretendAws, ask: str) -> None:
    mine = client(
        aws, "sts", aws.up.access_key_id, aws.up.secret_access_key, parameter_validation=False
    )
    role = (
        {"RoleArn": aws.role("brief", "ec2.amazonaws.com"), "RoleSessionName": "brief"}
        if ask == "assume_role"
        else {}
    )
    made = getattr(mine, ask)(DurationSeconds=6, **role)["Credentials"]
    assert "EXAMPLE" not in made["AccessKeyId"] + made["SecretAccessKey"] + made["SessionToken"]
    session = client(aws, "sts", made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"])
    session.get_caller_identity()
    eks = client(aws, "eks", made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"])
    until(lambda: _code(session.get_caller_identity))
    assert (
        refused(session.get_caller_identity) == "ExpiredToken"
        and refused(eks.list_clusters) == "ExpiredTokenException"
    )


def _code(call: Callable[[], Any]) -> str:
    """The code of a refusal; empty where there was none."""
    try:
        return refused(call)
    except AssertionError:
        return ""


def test_a_users_key_opens_while_it_is_active(aws: PretendAws) -> None:
    iam = aws.client("iam")
    iam.create_user(UserName="ann")
    made = iam.create_access_key(UserName="ann")["AccessKey"]
    ann = client(aws, "sts", made["AccessKeyId"], made["SecretAccessKey"])
    assert ann.get_caller_identity()["Arn"].endswith("user/ann")
    iam.update_access_key(UserName="ann", AccessKeyId=made["AccessKeyId"], Status="Inactive")
    assert refused(ann.get_caller_identity) == "InvalidClientTokenId"


def test_an_unsigned_web_identity_gets_no_role(aws: PretendAws) -> None:
    claims = base64.urlsafe_b64encode(
        json.dumps({"sub": "system:serviceaccount:a:b", "exp": 9999999999}).encode()
    ).decode()
    body = (
        f"Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=x&WebIdentityToken=e30.{claims}.e30&RoleArn="
        + aws.role("trusting", "ec2.amazonaws.com")
    )
    status, text = sent(
        f"{aws.up.endpoint_url}/",
        body.encode(),
        {"Content-Type": "application/x-www-form-urlencoded"},
        "POST",
    )
    assert status == 400 and "InvalidIdentityToken" in text and "AccessKeyId" not in text


def test_credentials_that_moto_gives_to_everybody_are_not_given(aws: PretendAws) -> None:
    assert (
        refused(lambda: aws.client("sts").get_federation_token(Name="visitor")) == "NotImplemented"
    )
