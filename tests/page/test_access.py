"""Who is let in, and what other sites can do."""

from __future__ import annotations

import hmac
import http.client
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from playrunner.page.access import Keys
from tests.support.page import PageServer
from tests.support.runner import invoke


def ask(
    server: PageServer, path: str, method: str = "GET", **headers: str
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(server.base).netloc, timeout=30)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def cookie(session: Page, server: PageServer) -> str:
    name, value = next(
        (each["name"], each["value"])
        for each in session.context.cookies(server.base)
        if each["httpOnly"] and each["sameSite"] == "Strict"
    )
    return f"{name}={value}"


def test_without_the_token_nothing_is_shown(server: PageServer) -> None:
    for path in ("/", "/runs", "/training", "/static/page.js", "/?token=", "/?token=%F0%9F"):
        answer = ask(server, path)
        assert answer.status == 403
        assert b"site.yaml" not in answer.read()


def test_every_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []
    original = hmac.compare_digest

    def counted(left: bytes, right: bytes) -> bool:
        compared.append(left)
        return original(left, right)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    keys = Keys(1)
    token = keys.token
    session = keys.exchange(token)
    assert session and not keys.exchange(token), "a token is used up"
    assert keys.admits(session) and not keys.admits("gu\u00e9ss")
    assert keys.is_form_token(session, keys.form_token(session))
    assert not keys.is_form_token(session, "guess")
    assert len(compared) == 6


def test_the_page_listens_on_loopback_alone(server: PageServer) -> None:
    address = urlsplit(server.base)
    assert address.hostname == "127.0.0.1" and address.port
    wanted = f":{address.port:04X}"
    listening = [
        fields[1]
        for name in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/net/{name}").read_text().splitlines()[1:])
        if fields[1].endswith(wanted) and fields[3] == "0A"
    ]
    assert listening == [socket.inet_aton("127.0.0.1")[::-1].hex().upper() + wanted]


def test_without_its_packages_the_command_says_how_to_install_them(tmp_path: Path) -> None:
    for name in ("starlette", "uvicorn"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not here')\n")
    done = invoke("page", state=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.code == 5 and len(done.err.splitlines()) == 1
    assert "[page]" in done.err and "pip install" in done.err


def test_a_link_works_once(server: PageServer, session: Page, browser: Browser) -> None:
    stranger = browser.new_context().new_page()
    answer = stranger.goto(server.link)
    assert answer is not None and answer.status == 403
    stranger.close()


def test_another_host_name_is_refused_with_the_right_cookie(
    server: PageServer, session: Page
) -> None:
    given = cookie(session, server)
    assert ask(server, "/runs", Cookie=given).status == 200
    assert ask(server, "/runs", Cookie=given, Host="evil.example").status == 421
    assert ask(server, "/runs", Cookie=given, Host="127.0.0.1.evil.example:80").status == 421


def test_answers_forbid_foreign_scripts_and_frames(server: PageServer, session: Page) -> None:
    given = cookie(session, server)
    for path in ("/runs", "/training/short"):
        policy = ask(server, path, Cookie=given).headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
    assert ask(server, "/runs", Cookie=given).headers["cache-control"] == "no-store"


def test_a_page_without_actions_acts_on_nothing(server: PageServer, session: Page) -> None:
    given = cookie(session, server)
    assert ask(server, "/training/short/do/stop", Cookie=given).status == 404
    assert ask(server, "/training/short/do/stop", "POST", Cookie=given).status == 404
