"""Sessions of the `requests` library for APIs that may answer anything: no answer without an end,
none larger than real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.text import answers
from playrunner.text.answers import BadAnswer

if TYPE_CHECKING:
    import requests

MOST_REDIRECTS = 5  # a registry sends to its store and from there to a mirror; more is a circle


def bound(session: requests.Session, seconds: float, *, secure: bool = False) -> requests.Session:
    """The same session within limits; with `secure` it takes no login to an address without TLS."""
    from requests.adapters import HTTPAdapter

    class Bounded(HTTPAdapter):
        """Gives up on who is silent (requests by itself would wait for ever), and on who does not
        come to an end."""

        def send(
            self, request: requests.PreparedRequest, *given: Any, **settings: Any
        ) -> requests.Response:
            url = str(request.url)
            if secure and url.startswith("http://") and "Authorization" in request.headers:
                raise BadAnswer(
                    f"{answers.shown(url)}: a login is asked for without TLS, and is not sent"
                )
            answer = super().send(
                request,
                *given,
                **{**settings, "timeout": settings.get("timeout") or seconds, "stream": True},
            )
            pieces = answer.iter_content(1 << 16)
            answer._content = answers.gathered(lambda size: next(pieces, b""), answers.shown(url))
            return answer

    for start in ("http://", "https://"):
        session.mount(start, Bounded(pool_maxsize=32))
    session.max_redirects = MOST_REDIRECTS
    return session
