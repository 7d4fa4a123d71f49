"""Who is let in: a one-time token in the link becomes a cookie; the Host header is checked."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
# A page of another site cannot read, frame or post here, and text that slips through as markup
# still runs no script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# Plotly sets styles from its script; scripts are still only ours
POLICY_WITH_CHARTS = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # "no-referrer" would make browsers send the origin of our own forms as null
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_ONWARD = (
    '<!doctype html><html lang="en"><title>Playrunner</title>'
    '<link rel="icon" href="data:,"><meta http-equiv="refresh" content="0;url=/">'
    '<a href="/">on to the page</a></html>'
)
REFUSED = (
    "This page is shown to those who have its link. Open the link that the program printed; it"
    " works once, and a new one is printed each time one was used."
)


class Keys:
    """The secrets of one server: the next link's token, and the sessions that links became."""

    def __init__(self, port: int, on_use: Callable[[], None] = lambda: None) -> None:
        self.cookie = f"playrunner_page_{port}"  # cookies know no ports, and two pages may be open
        self.token = secrets.token_urlsafe(32)
        self._sessions: set[str] = set()
        self._on_use = on_use
        self._form_key = secrets.token_bytes(32)

    def exchange(self, token: str) -> str:
        """A session for the token, which is then used up; empty when it is another."""
        if not _same(token, self.token):
            return ""
        self.token = secrets.token_urlsafe(32)
        session = secrets.token_urlsafe(32)
        self._sessions.add(session)
        self._on_use()
        return session

    def admits(self, session: str) -> bool:
        return any(_same(session, known) for known in self._sessions)

    def form_token(self, session: str) -> str:
        """What a form of this session must send back: other pages cannot know it."""
        return hmac.new(self._form_key, session.encode(), "sha256").hexdigest()

    def is_form_token(self, session: str, given: str) -> bool:
        return bool(session) and _same(given, self.form_token(session))


class Access:
    """Lets in whoever has the cookie, turns the link's token into it, and refuses the rest."""

    def __init__(self, app: Any, keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in _of(scope)}

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answered.setdefault(name, value)
                answered.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope, headers)
        if refusal:
            await refusal(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Any, headers: dict[str, str]) -> Response | None:
        if host_name(headers.get("host", "")) not in LOOPBACK_NAMES:
            return PlainTextResponse("this page answers under its own address only\n", 421)
        session = _cookie(headers.get("cookie", ""), self._keys.cookie)
        if session and self._keys.admits(session):
            scope.setdefault("state", {})["session"] = session
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        session = self._keys.exchange(given) if given and scope["method"] == "GET" else ""
        if not session:
            return PlainTextResponse(f"{REFUSED}\n", 403)
        # No redirect: after a click in a chat it would still count as coming from another site,
        # and the browser would not send the cookie.
        answer = HTMLResponse(_ONWARD)
        answer.set_cookie(self._keys.cookie, session, httponly=True, samesite="strict", path="/")
        return answer


def host_name(host: str) -> str:
    """The name in a Host header without its port; forwarding changes the port."""
    try:
        return (urlsplit(f"//{host}").hostname or "") if host else ""
    except ValueError:
        return ""


def same_origin(headers: Any) -> bool:
    """Whether a form was sent by a page of ours, as far as the browser says."""
    origin = headers.get("origin")
    if headers.get("sec-fetch-site") not in (None, "same-origin", "none"):
        return False
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def _of(scope: Any) -> list[tuple[bytes, bytes]]:
    return list(scope.get("headers", ()))


def _cookie(header: str, name: str) -> str:
    try:
        morsel = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(errors="replace"), right.encode())
