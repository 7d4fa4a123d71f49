"""The pretend AWS answers its own keys alone: no constant key, every signature checked, no control
without the secret."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from playrunner.sandbox import state
from playrunner.sandbox.aws.api import process
from playrunner.sandbox.http import control_secret
from tests.support.aws.sandbox import PretendAws, refused
from tests.support.aws.signing import client, sent

ROOT = Path(__file__).parents[2]


READS: dict[str, Callable[[Any], Any]] = {
    "sts": lambda one: one.get_caller_identity(),
    "iam": lambda one: one.list_roles(),
    "ec2": lambda one: one.describe_vpcs(),
    "eks": lambda one: one.list_clusters(),
    "efs": lambda one: one.describe_file_systems(),
    "fsx": lambda one: one.describe_file_systems(),
    "s3": lambda one: one.list_buckets(),
    "ecr": lambda one: one.describe_repositories(),
    "elbv2": lambda one: one.describe_load_balancers(),
    "logs": lambda one: one.describe_log_groups(),
}


UNKNOWN_KEY = {
    "s3": "InvalidAccessKeyId",
    "ec2": "AuthFailure",
    "sts": "InvalidClientTokenId",
    "iam": "InvalidClientTokenId",
    "elbv2": "InvalidClientTokenId",
}


WRONG_SECRET = {
    "s3": "SignatureDoesNotMatch",
    "ec2": "AuthFailure",
    "sts": "SignatureDoesNotMatch",
    "iam": "SignatureDoesNotMatch",
    "elbv2": "SignatureDoesNotMatch",
}


OVERDUE = {
    "s3": "RequestTimeTooSkewed",
    "ec2": "RequestExpired",
    "sts": "SignatureDoesNotMatch",
    "iam": "SignatureDoesNotMatch",
    "elbv2": "SignatureDoesNotMatch",
}


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendAws]:
    """The pretend AWS of another sandbox."""
    root = tmp_path_factory.mktemp("other") / "sandbox"
    try:
        yield PretendAws(root)
    finally:
        process.down(root)


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    """Have boto3 sign as if it were then."""
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: moment.replace(tzinfo=None))


@pytest.mark.parametrize("service", READS)
def test_each_service_answers_the_sandboxs_own_key_alone(
    aws: PretendAws, other: PretendAws, service: str
) -> None:
    mine, ask = aws.up, READS[service]
    ask(client(aws, service, mine.access_key_id, mine.secret_access_key))
    stranger = client(aws, service, other.up.access_key_id, other.up.secret_access_key)
    assert refused(lambda: ask(stranger)) == UNKNOWN_KEY.get(service, "UnrecognizedClientException")
    guessing = client(aws, service, mine.access_key_id, other.up.secret_access_key)
    assert refused(lambda: ask(guessing)) == WRONG_SECRET.get(service, "InvalidSignatureException")


@pytest.mark.parametrize("service", READS)
def test_an_old_request_is_not_answered_again(
    aws: PretendAws, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = client(aws, service, aws.up.access_key_id, aws.up.secret_access_key)
    for minutes in (-16, 16):
        at(monkeypatch, datetime.now(UTC) + timedelta(minutes=minutes))
        assert refused(lambda: READS[service](mine)) == OVERDUE.get(
            service, "InvalidSignatureException"
        )
    at(monkeypatch, datetime.now(UTC) - timedelta(minutes=14))
    READS[service](mine)


UNSIGNED = "MissingAuthenticationToken"


@pytest.mark.parametrize(("method", "path", "body", "code"), [
    ("POST", "/", b"Action=GetCallerIdentity&Version=2011-06-15", UNSIGNED),
    ("POST", "/", b"Action=AssumeRole&RoleArn=arn:aws:iam::123456789012:role/x"
     b"&RoleSessionName=x", UNSIGNED),
    ("POST", "/?Action=AssumeRoleWithWebIdentity",
     b"Action=AssumeRole&RoleArn=a&RoleArn=b", UNSIGNED),
    ("POST", "/", b"Action=AssumeRoleWithSAML&RoleArn=a&PrincipalArn=b&SAMLAssertion=c", UNSIGNED),
    ("GET", "/clusters", None, "AccessDenied"),
    ("GET", "/bucket/key", None, "AccessDenied"),
    ("GET", "/", None, "AccessDenied"),
    ("POST", "/moto-api/reset", b"", "AccessDenied"),
    ("GET", "/moto-api/data.json", None, "AccessDenied"),
])  # fmt: skip
def test_without_a_signature_nothing_is_done(
    aws: PretendAws, method: str, path: str, body: bytes | None, code: str
) -> None:
    aws.client("ec2").create_vpc(CidrBlock="10.9.0.0/16")
    form = {"Content-Type": "application/x-www-form-urlencoded"} if body is not None else {}
    status, text = sent(f"{aws.up.endpoint_url}{path}", body, form, method)
    assert status == 403 and f"<Code>{code}</Code>" in text, text
    assert any(
        vpc["CidrBlock"] == "10.9.0.0/16" for vpc in aws.client("ec2").describe_vpcs()["Vpcs"]
    )


@pytest.mark.parametrize("given", [
    "AWS AKIA:abc", "AWS4-HMAC-SHA256", "Bearer x", "\xe9",
    "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host, Signature=b",
    "AWS4-HMAC-SHA256 Credential=AKIA/20250101/us-east-1/sts/aws4_request, SignedHeaders=host,"
    " Signature=\xe9",
])  # fmt: skip
def test_a_signature_that_is_none_is_refused_and_harms_nothing(aws: PretendAws, given: str) -> None:
    status, _ = sent(
        f"{aws.up.endpoint_url}/",
        b"Action=GetCallerIdentity&Version=2011-06-15",
        {"Authorization": given, "Content-Type": "application/x-www-form-urlencoded"},
        "POST",
    )
    assert status in (400, 401, 403)


def signed(
    aws: PretendAws, service: str, method: str, path: str, body: bytes = b""
) -> tuple[str, dict[str, str]]:
    """The URL and headers of a request that is signed as boto3 signs it."""
    keys = Credentials(aws.up.access_key_id, aws.up.secret_access_key)
    request = AWSRequest(
        method,
        f"{aws.up.endpoint_url}{path}",
        {"Content-Type": "application/x-www-form-urlencoded"},
        body,
    )
    botocore.auth.SigV4Auth(keys, service, "us-west-2").add_auth(request)
    prepared = request.prepare()
    return prepared.url, {
        name: value.decode() if isinstance(value, bytes) else value
        for name, value in prepared.headers.items()
    }


def test_a_request_that_was_altered_after_signing_is_refused(aws: PretendAws) -> None:
    body = b"Action=DescribeVpcs&Version=2016-11-15"
    url, headers = signed(aws, "ec2", "POST", "/", body)
    assert sent(url, body, headers, "POST")[0] == 200
    altered = b"Action=DeleteVpcs&Version=2016-11-15"
    assert (
        "AuthFailure"
        in sent(url, altered, {**headers, "Content-Length": str(len(altered))}, "POST")[1]
    )
    assert "AuthFailure" in sent(f"{url}?Action=RunInstances", body, headers, "POST")[1]
    assert "AuthFailure" in sent(f"{url}elsewhere", body, headers, "POST")[1]
    assert "AuthFailure" in sent(url, body, {**headers, "Content-Type": "text/plain"}, "POST")[1]
    later = (datetime.now(UTC) + timedelta(seconds=30)).strftime("%Y%m%dT%H%M%SZ")
    assert "AuthFailure" in sent(url, body, {**headers, "X-Amz-Date": later}, "POST")[1]
    scope = headers["Authorization"].replace("/us-west-2/ec2/", "/us-west-2/iam/")
    assert (
        "SignatureDoesNotMatch" in sent(url, body, {**headers, "Authorization": scope}, "POST")[1]
    )


def test_names_with_unusual_characters_are_signed_as_they_are(aws: PretendAws) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="odd", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    for key in ("a b+c/ü~(1)", "x//y/../z", "per%20cent", "a&b=c"):
        s3.put_object(Bucket="odd", Key=key, Body=key.encode(), Metadata={"kind_of": "two  spaces"})
        assert s3.get_object(Bucket="odd", Key=key)["Body"].read() == key.encode()
    assert s3.list_objects_v2(Bucket="odd", Prefix="a b+c/")["KeyCount"] == 1
    assert (
        refused(lambda: aws.client("eks").describe_cluster(name="no such one/é"))
        == "ResourceNotFoundException"
    )


def test_a_signed_url_opens_one_object_until_it_ends(
    aws: PretendAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws.client("s3").create_bucket(
        Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
    )
    for key in ("one", "two"):
        aws.client("s3").put_object(Bucket="bucket", Key=key, Body=key.encode())
    mine = client(
        aws, "s3", aws.up.access_key_id, aws.up.secret_access_key, signature_version="s3v4"
    )

    def make():
        return mine.generate_presigned_url(
            "get_object", {"Bucket": "bucket", "Key": "one"}, ExpiresIn=60
        )

    url = make()
    assert sent(url) == (200, "one")
    assert "SignatureDoesNotMatch" in sent(url.replace("/one?", "/two?"))[1]
    assert "SignatureDoesNotMatch" in sent(url.replace("X-Amz-Expires=60", "X-Amz-Expires=600"))[1]
    assert "SignatureDoesNotMatch" in sent(url, b"other", method="PUT")[1]
    at(monkeypatch, datetime.now(UTC) - timedelta(minutes=2))
    assert sent(make())[0] == 403


def test_each_sandbox_has_random_keys_that_stand_in_no_command_line_and_no_log(
    aws: PretendAws, other: PretendAws
) -> None:
    assert (
        aws.up.access_key_id != other.up.access_key_id
        and aws.up.secret_access_key != other.up.secret_access_key
    )
    secret = control_secret.header(aws.root / "aws")["Authorization"].removeprefix("Bearer ")
    assert (
        aws.up.access_key_id.startswith("AKIA")
        and len(aws.up.access_key_id) == 20
        and len(secret) >= 40
    )
    shown = " ".join(state.commands().values()) + (aws.root / "aws" / "log").read_text()
    for word in (aws.up.access_key_id, aws.up.secret_access_key, secret):
        assert word not in shown


def test_the_control_api_wants_its_secret(aws: PretendAws, other: PretendAws) -> None:
    url = f"{aws.up.endpoint_url}/_sandbox"
    keys = {"Authorization": f"Bearer {aws.up.secret_access_key}"}
    others = control_secret.header(other.root / "aws")
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "\xe9"}, keys, others):
        for name in ("health", "calls"):
            assert sent(f"{url}/{name}", None, headers)[0] == 401
        for name in ("reset", "faults", "token-reviews"):
            assert sent(f"{url}/{name}", b"{}", headers, "POST")[0] == 401
    assert sent(f"{url}/health", None, control_secret.header(aws.root / "aws"))[0] == 200


def test_a_stranger_uses_up_no_fault_and_fills_no_list(aws: PretendAws) -> None:
    aws.fault("throttle", service="eks", times=1)
    stranger = client(aws, "eks", aws.up.access_key_id, "wrong")
    assert refused(stranger.list_clusters) == "InvalidSignatureException"
    assert aws.calls() == []
    assert refused(lambda: aws.client("eks", retry=False).list_clusters()) == "ThrottlingException"


def test_the_real_aws_command_is_let_in_by_the_right_secret_alone(aws: PretendAws) -> None:
    places = [
        str(ROOT / ".venv-aws" / "bin"),
        str(Path(sys.executable).parent),
        os.environ.get("PATH", ""),
    ]
    program = shutil.which("aws", path=os.pathsep.join(places))
    if program is None:
        pytest.skip("the aws CLI is not installed: make test-cloud installs it")
    for secret, fits in ((aws.up.secret_access_key, True), ("wrong", False)):
        environment = {
            **os.environ,
            **aws.up.environment(),
            "AWS_PAGER": "",
            "AWS_SECRET_ACCESS_KEY": secret,
        }
        ran = subprocess.run(
            [program, "sts", "get-caller-identity"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (ran.returncode == 0) == fits and ("SignatureDoesNotMatch" in ran.stderr) != fits, (
            ran.stderr
        )
