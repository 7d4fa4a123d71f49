"""A registry that answers rubbish cannot be reached, and nothing of it is believed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from playrunner.cloud.resource import Refused
from playrunner.images.credentials import Credentials
from playrunner.images.reference import parse
from playrunner.images.registry import Registry
from playrunner.images.settings import ImageSettings
from playrunner.text.answers import BadAnswer
from tests.support.security.rubbish import RUBBISH, Said, said, serving

pytest.importorskip("oras")

from tests.support.security.plain_errors import assert_plain


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


def test_the_digest_of_what_came_is_what_counts(tmp_path: Path) -> None:
    config = said({"architecture": "arm64", "config": {"Labels": {"a": "b"}}})
    digest = "sha256:" + hashlib.sha256(config.body).hexdigest()
    manifest = said({"config": {"digest": digest}, "layers": [{"size": 5}]})
    with serving(lambda method, path: config if "/blobs/" in path else manifest) as server:
        found = registry_at(server.url, tmp_path).image("latest")
    assert found and found.size == 5 and found.labels == {"a": "b"}
