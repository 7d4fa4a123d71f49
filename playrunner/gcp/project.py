"""Project: one project of Google Cloud for a whole run: a connection, tokens, and the reads that steps share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from playrunner.cloud import Unanswered
from playrunner.errors import BadInput
from playrunner.gcp import credentials
from playrunner.gcp.addresses import address
from playrunner.gcp.problems import NotReached, problem
from playrunner.gcp.settings import GcpSettings
from playrunner.shared_reads import SharedReads

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
        found = self.settings.project or (self._open() and self._known)
        if not found:
            raise BadInput("no Google Cloud project is set; give gcp_project in the inventory, or GOOGLE_CLOUD_PROJECT")
        return str(found)

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

    def send(self, method: str, service: str, path: str, query: Mapping[str, Any], body: Any) -> Any:
        """One request and its document; a refusal is raised in our own words."""
        import requests

        session, what = self._open(), f"{service}.{_name(method, path)}"
        self._renew()
        headers = {"Authorization": f"Bearer {self._credentials.token}"}
        try:
            answer = session.request(method, address(service, path, self.settings.endpoint_url), params=dict(query), json=body,
                                     headers=headers, timeout=(CONNECT_SECONDS, ANSWER_SECONDS))
        except (requests.exceptions.ConnectTimeout, requests.exceptions.ProxyError) as error:
            raise NotReached(f"{what}: Google Cloud does not answer: {error}") from None
        except requests.exceptions.ConnectionError as error:
            if "NewConnectionError" in repr(error) or "NameResolution" in repr(error):
                raise NotReached(f"{what}: Google Cloud does not answer: {error}") from None
            raise Unanswered(f"{what}: no answer: {error}") from None
        except requests.exceptions.RequestException as error:
            raise Unanswered(f"{what}: no answer: {error}") from None
        document = _document(answer)
        if answer.status_code >= 400:
            raise problem(answer.status_code, document, what, self.settings.project or self._known)
        return document

    def _open(self) -> Any:
        with self._opening:
            if self._session is None:
                self._credentials, self._known = credentials.find(self.settings)
                import requests

                session = requests.Session()
                session.headers["User-Agent"] = "playrunner"
                # Loopback must be reached directly, whatever proxy the environment names.
                session.trust_env = "://127." not in self.settings.endpoint_url
                session.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=32))
                self._session = session
            return self._session

    def _renew(self) -> None:
        with self._opening:
            if self._credentials.valid:
                return
            from google.auth.exceptions import GoogleAuthError, TransportError
            from google.auth.transport.requests import Request

            try:
                self._credentials.refresh(Request(self._session))  # type: ignore[no-untyped-call]
            except TransportError as error:
                raise NotReached(f"Google Cloud gives no token: {error}") from None
            except GoogleAuthError as error:
                raise BadInput(f"Google Cloud gives no token: {error.args[0] if error.args else error};"
                               f" {credentials.LOG_IN}") from None


def _document(answer: Any) -> dict[str, Any]:
    try:
        found = answer.json() if answer.content else {}
    except ValueError:
        found = {"error": {"message": answer.text[:200]}} if answer.status_code >= 400 else {}
    return found if isinstance(found, dict) else {}


_VERBS: dict[str, Callable[[bool], str]] = {
    "GET": lambda one: "get" if one else "list", "POST": lambda one: "create", "DELETE": lambda one: "delete",
    "PUT": lambda one: "update", "PATCH": lambda one: "update"}


def _name(method: str, path: str) -> str:
    """`clusters.create` of POST projects/p/locations/z/clusters: for messages."""
    last = path.rpartition("/")[2]
    if ":" in last:
        return f"{path.split('/')[-2]}.{last.partition(':')[2]}"
    named = len(path.split("/")) % 2 == 0
    return f"{path.split('/')[-2] if named else last}.{_VERBS[method](named)}"
