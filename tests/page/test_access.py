"""Who is let in, and what other sites can do."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

from tests.support.page import PageServer


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
    for path in ("/", "/runs", "/training", "/static/page.js", "/?token=", "/?token=guess"):
        answer = ask(server, path)
        assert answer.status == 403
        assert b"site.yaml" not in answer.read()


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
