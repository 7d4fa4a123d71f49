"""An AWS that answers rubbish cannot be reached: one line, exit code 4, and nothing is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.cloud.resource import Refused, Unanswered
from playrunner.text import answers
from playrunner.text.answers import BadAnswer
from tests.support.runner import invoke
from tests.support.security.rubbish import RUBBISH, Said, Server, said, serving

pytest.importorskip("boto3")

from playrunner.aws.client import Account, Aws, AwsSettings
from tests.support.security.plain_errors import assert_plain

# One of each protocol that AWS speaks: rest-json, json, query, ec2.
AWS_READS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "eks": ("eks", "describe_cluster", {"name": "a"}, "cluster"),
    "efs": ("efs", "describe_file_systems", {}, "FileSystems"),
    "ecr": ("ecr", "describe_repositories", {}, "repositories"),
    "sts": ("sts", "get_caller_identity", {}, "Account"),
    "iam": ("iam", "get_role", {"RoleName": "a"}, "Role"),
    "ec2": ("ec2", "describe_vpcs", {}, "Vpcs"),
    "s3": ("s3", "list_buckets", {}, "Buckets"),
}


# AWS does not send elsewhere, so this is a refusal like any other.
ODD = {"a redirect to itself"}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "nobody")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def account() -> Iterator[tuple[Server, Account]]:
    """One account for all tests: botocore takes its time to make a client."""
    with serving(said({})) as server:
        yield server, Account(AwsSettings("us-west-2", endpoint_url=server.url))


@pytest.fixture
def aws(account: tuple[Server, Account]) -> Callable[[Said], Aws]:
    """An AWS that gives this answer to everything."""

    def answering(answer: Said) -> Aws:
        account[0].answer = lambda method, path: answer
        asking = Aws(account[1], sleep=lambda seconds: None)
        asking.refresh()
        return asking

    return answering


@pytest.mark.parametrize("service", AWS_READS)
@pytest.mark.parametrize("answer", RUBBISH)
def test_every_read_from_an_aws_that_answers_rubbish_says_so(
    service: str, answer: str, aws: Callable[[Said], Aws]
) -> None:
    name, operation, arguments, field = AWS_READS[service]
    with pytest.raises((BadAnswer, Refused, Unanswered)) as caught:
        found = aws(RUBBISH[answer]).read(name, operation, **arguments)
        found[field]
    assert_plain(caught.value)
    # What is no XML from S3, botocore itself takes for an inner error of it.
    assert (
        isinstance(caught.value, BadAnswer)
        or answer in ODD
        or (service == "s3" and isinstance(caught.value, Unanswered))
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"cluster": []},
        {"cluster": {"name": 5}},
        {"cluster": {"resourcesVpcConfig": "none"}},
        {"cluster": {"tags": [1]}},
        {"cluster": {"resourcesVpcConfig": {"subnetIds": 5}}},
        {"cluster": {"createdAt": "soon"}},
        {"cluster": {"encryptionConfig": [5]}},
        {"cluster": {"logging": {"clusterLogging": 5}}},
    ],
)
def test_a_field_of_another_type_from_aws_is_not_believed(
    wrong: dict[str, Any], aws: Callable[[Said], Aws]
) -> None:
    with pytest.raises(BadAnswer) as caught:
        aws(said(wrong)).read("eks", "describe_cluster", name="a")
    assert "eks.describe_cluster" in assert_plain(caught.value)


def test_a_change_that_aws_answers_with_html_is_not_believed_when_its_answer_is_read(
    aws: Callable[[Said], Aws],
) -> None:
    with pytest.raises(BadAnswer, match="has no 'cluster'"):
        aws(RUBBISH["html"]).call("eks", "delete_cluster", name="a")["cluster"]


def test_an_answer_of_aws_larger_than_any_real_one_is_not_taken_into_memory(
    aws: Callable[[Said], Aws], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", 1 << 20)
    with pytest.raises(BadAnswer, match="more than 1 MiB"):
        aws(Said(b" " * (3 << 20))).read("eks", "describe_cluster", name="a")


@pytest.mark.parametrize("answer", ["html", "nothing", "an empty mapping"])
def test_a_role_that_meets_an_aws_that_answers_rubbish_ends_with_4(
    answer: str, tmp_path: Path
) -> None:
    with serving(RUBBISH[answer]) as server:
        inventory = tmp_path / "inventory.yaml"
        inventory.write_text(
            "all: {hosts: {localhost: {ansible_connection: local}}, vars: {cluster_name: demo,"
            f" aws_region: us-west-2, aws_endpoint_url: '{server.url}'}}}}\n"
        )
        outcome = invoke("efs.status", "--inventory", inventory, state=tmp_path)
    assert outcome.code == 4 and "Traceback" not in outcome.text, outcome.text
