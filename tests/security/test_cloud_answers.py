"""Clouds and registries that answer rubbish cannot be reached: one line, exit code 4, and nothing
is believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.cloud.resource import Refused, Unanswered
from playrunner.images.credentials import Credentials
from playrunner.images.reference import parse
from playrunner.images.registry import Registry
from playrunner.images.settings import ImageSettings
from playrunner.text import answers
from playrunner.text.answers import BadAnswer
from tests.support.runner import invoke
from tests.support.security.rubbish import RUBBISH, Said, Server, said, serving

pytest.importorskip("boto3")
pytest.importorskip("google.auth")
pytest.importorskip("oras")

from playrunner.aws.client import Account, Aws, AwsSettings
from playrunner.gcp.client import Gcp
from playrunner.gcp.project import Project
from playrunner.gcp.settings import GcpSettings

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
ODD = {
    "a redirect to itself"
}  # AWS and Google do not send elsewhere, so this is a refusal like any other


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


def registry_at(url: str, folder: Path, user: str = "") -> Registry:
    home = parse(f"{url.removeprefix('http://')}/team/app")
    settings = ImageSettings(
        auth_file=folder / "config.json", user=user, password="secret" if user else ""
    )
    return Registry(
        home, Credentials(settings, home.registry, lambda: None, lambda: None), lambda seconds: None
    )


@pytest.mark.parametrize("asked", ["image", "tags"])
@pytest.mark.parametrize("answer", RUBBISH)
def test_every_question_to_a_registry_that_answers_rubbish_says_so(
    asked: str, answer: str, tmp_path: Path
) -> None:
    if asked == "tags" and answer in ("an empty mapping", "a mapping of lists"):
        pytest.skip("a list without tags")
    with serving(RUBBISH[answer]) as server, pytest.raises(BadAnswer) as caught:
        registry = registry_at(server.url, tmp_path)
        registry.image("latest") if asked == "image" else registry.tags()
    assert_plain(caught.value)


def test_an_index_that_names_itself_ends(tmp_path: Path) -> None:
    def answer(method: str, path: str) -> Said:
        return said(
            {
                "manifests": [
                    {"digest": "sha256:" + "0" * 64, "platform": {"architecture": "amd64"}},
                    {"digest": "sha256:" + "1" * 64, "platform": {"architecture": "arm64"}},
                ]
            }
        )

    with (
        serving(answer) as server,
        pytest.raises(BadAnswer, match="what the registry sends is sha256"),
    ):
        registry_at(server.url, tmp_path).image("latest")


def test_tags_without_end_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playrunner.images.registry.MOST_PAGES", 20)
    link = {"Link": '</v2/team/app/tags/list?n=500&last=x>; rel="next"'}
    with (
        serving(said({"tags": ["a"]}, headers=link)) as server,
        pytest.raises(BadAnswer, match="does not come to its end"),
    ):
        registry_at(server.url, tmp_path).tags()


@pytest.mark.parametrize("answer", ["html", "null", "a list", "nothing", "a deep JSON"])
def test_a_registry_whose_token_address_answers_rubbish_is_no_traceback(
    answer: str, tmp_path: Path
) -> None:
    def answered(method: str, path: str) -> Said:
        realm = f'Bearer realm="{server.url}/token",service="s",scope="x"'
        return (
            RUBBISH[answer]
            if path.startswith("/token")
            else Said(b"{}", status=401, headers={"Www-Authenticate": realm})
        )

    with serving(answered) as server, pytest.raises((BadAnswer, Refused)) as caught:
        registry_at(server.url, tmp_path, "me").image("latest")
    assert "secret" not in assert_plain(caught.value)


def test_a_login_is_not_sent_to_an_address_without_tls_on_behalf_of_one_with_it() -> None:
    import requests

    from playrunner.cloud.bounded_http import bound

    with serving(said({"token": "x"})) as server, pytest.raises(BadAnswer, match="without TLS"):
        bound(requests.Session(), 5, secure=True).get(
            server.url, headers={"Authorization": "Basic eDp5"}
        )
    assert server.asked == []


def assert_plain(error: Exception) -> str:
    message = str(error)
    assert "\n" not in message and message.isprintable() and len(message) < 500, message
    return message


def test_the_digest_of_what_came_is_what_counts(tmp_path: Path) -> None:
    config = said({"architecture": "arm64", "config": {"Labels": {"a": "b"}}})
    digest = "sha256:" + hashlib.sha256(config.body).hexdigest()
    manifest = said({"config": {"digest": digest}, "layers": [{"size": 5}]})
    with serving(lambda method, path: config if "/blobs/" in path else manifest) as server:
        found = registry_at(server.url, tmp_path).image("latest")
    assert found and found.size == 5 and found.labels == {"a": "b"}
