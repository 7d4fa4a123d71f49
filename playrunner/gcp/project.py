"""Project: one project of Google Cloud for a whole run: a connection, tokens, and the reads that
steps share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from playrunner.cloud.bounded_http import bound
from playrunner.cloud.resource import Unanswered
from playrunner.cloud.shared_reads import SharedReads
from playrunner.errors import BadInput, PlayrunnerError
from playrunner.gcp import credentials
from playrunner.gcp.addresses import address
from playrunner.gcp.answers import checked, refusal
from playrunner.gcp.problems import NotReached, problem
from playrunner.gcp.settings import GcpSettings
from playrunner.text import answers
from playrunner.text.answers import BadAnswer

CONNECT_SECONDS, ANSWER_SECONDS = 10, 60


class Project:
    """Sends requests; what may be repeated is for others to say."""

    def __init__(self, settings: GcpSettings) -> None:
        self.settings = settings
        self.reads = SharedReads()
        self._opening = threading.Lock()
        self._session: Any = None
        self._credentials: Any = None
        self._known = ""  # the project that the credentials know of

    @property
    def id(self) -> str:
        project = self.settings.project or (self._open() and self._known)
        if not project:
            raise BadInput(
                "no Google Cloud project is set; give gcp_project in the inventory, or"
                " GOOGLE_CLOUD_PROJECT"
            )
        return str(project)

    @property
    def zone(self) -> str:
        if not self.settings.zone:
            raise BadInput("no zone is set; give gcp_zone in the inventory, as us-central1-a")
        return self.settings.zone

    @property
    def region(self) -> str:
        return self.settings.home_region or self.zone.rpartition("-")[0]

    def token(self) -> tuple[str, Any]:
        """A token that holds for a while yet, and until when."""
        self._open()
        self._renew()
        return str(self._credentials.token), self._credentials.expiry

    def send(
        self, method: str, service: str, path: str, query: Mapping[str, Any], body: Any
    ) -> Any:
        """One request and its document; a refusal is raised in our own words."""
        session, what = self._open(), f"{service}.{_name(method, path)}"
        import requests

        self._renew()
        headers = {"Authorization": f"Bearer {self._credentials.token}"}
        try:
            answer = session.request(
                method,
                address(service, path, self.settings.endpoint_url),
                params=dict(query),
                json=body,
                headers=headers,
                timeout=(CONNECT_SECONDS, ANSWER_SECONDS),
                allow_redirects=False,
            )
        except (requests.exceptions.ConnectTimeout, requests.exceptions.ProxyError) as error:
            raise NotReached(f"{what}: Google Cloud does not answer: {error}") from None
        except requests.exceptions.ConnectionError as error:
            if "NewConnectionError" in repr(error) or "NameResolution" in repr(error):
                raise NotReached(f"{what}: Google Cloud does not answer: {error}") from None
            raise Unanswered(f"{what}: no answer: {error}") from None
        except (requests.exceptions.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            raise Unanswered(f"{what}: no answer: {error}") from None
        except requests.exceptions.RequestException as error:
            raise BadAnswer(
                f"{what}: what was answered cannot be read: {ascii(str(error)[:200])[1:-1]}"
            ) from None
        return self._document(answer, method, what)

    def _document(self, answer: Any, method: str, what: str) -> dict[str, Any]:
        source, kind = answers.shown(answer.url), answer.headers.get("Content-Type", "")
        if answer.status_code < 300:
            if not answer.content and (answer.status_code == 204 or method == "DELETE"):
                return {}
            return checked(answer.content, source, kind)
        try:
            error = refusal(answer.content, source, kind)
        except BadAnswer:
            if answer.status_code < 500 and answer.status_code != 429:
                # Not Google's words: what another server does not have, or refuses, says nothing
                raise
            error = {"error": {"message": answers.described(answer.content, kind)}}
        raise problem(answer.status_code, error, what, self.settings.project or self._known)

    def _open(self) -> Any:
        with self._opening:
            if self._session is None:
                self._credentials, self._known = self.find_credentials()
                import requests

                session = bound(
                    requests.Session(), ANSWER_SECONDS, secure=not self.settings.endpoint_url
                )
                session.headers["User-Agent"] = "playrunner"
                # Loopback must be reached directly, whatever proxy the environment names.
                session.trust_env = "://127." not in self.settings.endpoint_url
                self._session = session
            return self._session

    def find_credentials(self) -> tuple[Any, str]:
        """Credentials of google-auth, and the project that they know of themselves."""
        return credentials.find(self.settings)

    def _renew(self) -> None:
        with self._opening:
            if self._credentials.valid:
                return
            from google.auth.exceptions import GoogleAuthError, TransportError
            from google.auth.transport.requests import Request

            try:
                self._credentials.refresh(Request(self._session))  # type: ignore[no-untyped-call]
            except PlayrunnerError:
                raise
            except TransportError as error:
                raise NotReached(f"Google Cloud gives no token: {error}") from None
            except GoogleAuthError as error:
                message = _said(error)
                # Too many requests, or an error of the service's own: it was asked three times
                if getattr(error, "retryable", False):
                    raise NotReached(f"Google Cloud gives no token for now: {message}") from None
                raise BadInput(
                    f"Google Cloud gives no token: {message}; {credentials.LOG_IN}"
                ) from None
            # google-auth takes the answer of the token's address for what it should be
            except Exception as error:
                raise BadAnswer(
                    "Google Cloud gives no token: what was answered cannot be read:"
                    f" {type(error).__name__}: {ascii(str(error)[:100])[1:-1]}"
                ) from error


def _said(error: Exception) -> str:
    """The service's own message, where google-auth kept its document; else google-auth's words."""
    document = error.args[1] if len(error.args) > 1 else None
    problem = document.get("error") if isinstance(document, dict) else None
    if isinstance(problem, dict) and problem.get("message"):
        return str(problem["message"]).rstrip(".")
    return str(error.args[0] if error.args else error)


_VERBS: dict[str, Callable[[bool], str]] = {
    "GET": lambda one: "get" if one else "list",
    "POST": lambda one: "create",
    "DELETE": lambda one: "delete",
    "PUT": lambda one: "update",
    "PATCH": lambda one: "update",
}


def _name(method: str, path: str) -> str:
    """`clusters.create` of POST projects/p/locations/z/clusters: for messages."""
    last = path.rpartition("/")[2]
    if ":" in last:
        return f"{path.split('/')[-2]}.{last.partition(':')[2]}"
    named = len(path.split("/")) % 2 == 0
    return f"{path.split('/')[-2] if named else last}.{_VERBS[method](named)}"
