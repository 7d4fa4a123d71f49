"""host.uri asks and tells."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host.uri import Uri
from tests.support.host.web import HELLO, serving


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with serving() as address:
        yield address


def test_json_is_read_and_headers_are_told(ctx: Any, web: str) -> None:
    result = perform(Uri(url=f"{web}/config.json"), ctx)
    assert (
        result["status"] == 200
        and result["json"] == {"ports": [80, 443]}
        and result["x_served_by"] == "tests"
    )
    assert (
        not result["changed"] and "content" not in result and result["url"] == f"{web}/config.json"
    )


def test_the_body_is_told_when_asked_for(ctx: Any, web: str) -> None:
    assert (
        perform(Uri(url=f"{web}/hello.txt", return_content=True), ctx)["content"] == HELLO.decode()
    )


@pytest.mark.parametrize(
    "arguments, body, kind",
    [
        ({"body_format": "json", "body": {"a": 1}}, '{"a": 1}', "application/json"),
        ({"body_format": "json", "body": '{"a": 1}'}, '{"a": 1}', "application/json"),
        (
            {"body_format": "form-urlencoded", "body": {"a": "x y", "b": [1, 2]}},
            "a=x+y&b=1&b=2",
            "application/x-www-form-urlencoded",
        ),
        ({"body": "raw", "headers": {"Content-Type": "text/plain"}}, "raw", "text/plain"),
    ],
)
def test_bodies_are_sent_as_asked(
    ctx: Any, web: str, arguments: dict[str, Any], body: str, kind: str
) -> None:
    heard = perform(Uri(url=f"{web}/echo", method="POST", status_code=[201], **arguments), ctx)[
        "json"
    ]
    assert heard == {"method": "POST", "body": body, "type": kind, "x": None}


def test_another_status_is_a_failure_that_tells_the_answer(ctx: Any, web: str) -> None:
    with pytest.raises(Failed, match=r"Status code was 404 and not \[200\]") as failure:
        perform(Uri(url=f"{web}/gone"), ctx)
    assert (
        failure.value.values["status"] == 404 and failure.value.values["content"] == "no such page"
    )
    assert perform(Uri(url=f"{web}/gone", status_code=[200, 404]), ctx)["status"] == 404


def test_redirects_are_followed_unless_not(ctx: Any, web: str) -> None:
    result = perform(Uri(url=f"{web}/moved"), ctx)
    assert result["redirected"] and result["url"] == f"{web}/hello.txt"
    assert (
        perform(Uri(url=f"{web}/moved", follow_redirects="none", status_code=[302]), ctx)["status"]
        == 302
    )


@pytest.mark.parametrize("at_once", [True, False])
def test_a_login_is_sent(ctx: Any, web: str, at_once: bool) -> None:
    login = {"url_username": "ada", "url_password": "secret", "force_basic_auth": at_once}
    assert perform(Uri(url=f"{web}/private", **login), ctx)["status"] == 200


def test_the_password_is_hidden_where_a_server_repeats_it(ctx: Any, web: str) -> None:
    ask = {
        "url": f"{web}/echo",
        "method": "POST",
        "body": "word=pa55word",
        "url_username": "ada",
        "url_password": "pa55word",
        "return_content": True,
    }
    result = perform(Uri(**ask, status_code=[201]), ctx)
    assert result["json"]["body"] == "word=********" and "pa55word" not in json.dumps(result)
    with pytest.raises(Failed) as caught:
        perform(Uri(**ask, status_code=[500]), ctx)
    assert "********" in caught.value.values["content"] and "pa55word" not in json.dumps(
        caught.value.values
    )


def test_the_body_is_written_once(ctx: Any, folder: Path, web: str) -> None:
    step = {"url": f"{web}/config.json", "dest": str(folder / "g"), "mode": "0600"}
    result = perform(Uri(**step), ctx)
    assert result["changed"] and result["mode"] == "0600" and json.loads((folder / "g").read_text())
    assert not perform(Uri(**step), ctx)["changed"]


def test_check_does_not_ask(host: Callable[..., Any]) -> None:
    assert perform(Uri(url="http://127.0.0.1:1/"), host(check=True))["unknown"]


def test_creates_and_removes_are_heeded(ctx: Any, folder: Path) -> None:
    assert "exists" in perform(Uri(url="http://127.0.0.1:1/", creates=str(folder)), ctx)["msg"]
    assert (
        "does not exist"
        in perform(Uri(url="http://127.0.0.1:1/", removes=str(folder / "gone")), ctx)["msg"]
    )


def test_a_server_that_is_not_there_is_named(ctx: Any) -> None:
    with pytest.raises(Failed, match=r"127\.0\.0\.1:1/") as failure:
        perform(Uri(url="http://127.0.0.1:1/"), ctx)
    assert failure.value.values["status"] == -1
