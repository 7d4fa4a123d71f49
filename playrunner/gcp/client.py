"""Gcp: a project as one step sees it. A read is repeated until it is answered, a change only when
it was not done."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from playrunner.cloud.call_log import CallRecorder, logged_call
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.cloud.retry import Retry, RetryPolicy
from playrunner.cloud.shared_reads import SHARED_SECONDS
from playrunner.errors import HostUnreachable
from playrunner.gcp.answers import listed
from playrunner.gcp.problems import NotReached, Throttled, failed
from playrunner.gcp.project import Project
from playrunner.hostside.module import Failed
from playrunner.text.answers import MOST_PAGES, BadAnswer

RETRIES = RetryPolicy(attempts=9)
OPERATION_SECONDS, LONGEST_PAUSE = 1800.0, 10.0
_PAGES = {
    "compute": {"maxResults": 500},
    "storage": {"maxResults": 500},
    "artifactregistry": {"pageSize": 500},
    "serviceusage": {"pageSize": 200},
}  # the container API's lists have no pages


class Gcp:
    """Paths are written as each service's documentation has them, without the version:
    projects/p/zones/z/disks."""

    def __init__(
        self,
        account_session: Project,
        subject: str = "",
        call_log: CallRecorder | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.account_session, self.subject = account_session, subject
        self.call_log, self.sleep = call_log, sleep
        self.stack = ""  # the cluster whose things are changed: two have steps of the same name
        self.not_before = time.monotonic() - SHARED_SECONDS

    @property
    def project(self) -> str:
        return self.account_session.id

    @property
    def account(self) -> str:
        """The project; clients of every cloud have this name for it."""
        return self.project

    @property
    def zone(self) -> str:
        return self.account_session.zone

    @property
    def region(self) -> str:
        return self.account_session.region

    def refresh(self) -> None:
        """Reads from now on must not reuse earlier answers."""
        self.not_before = time.monotonic()

    def read(self, service: str, path: str, **query: Any) -> Any:
        """One resource, or None when it does not exist."""
        try:
            return self._read(
                service,
                path,
                lambda: self.account_session.send("GET", service, path, query, None),
                query,
            )
        except Refused as refusal:
            if refusal.not_found:
                return None
            raise

    def listing(self, service: str, path: str, key: str, **query: Any) -> list[Any]:
        """All items of a list, page by page; empty when its parent does not exist."""
        try:
            return list(
                self._read(
                    service,
                    path,
                    lambda: self._pages(service, path, key, query),
                    {**query, "all": key},
                )
            )
        except Refused as refusal:
            if refusal.not_found:
                return []
            raise

    def call(
        self,
        method: str,
        service: str,
        path: str,
        body: Any = None,
        *,
        token: bool = False,
        **query: Any,
    ) -> Any:
        """Send a change. With `token` the service recognises a repeated one, so it may be sent
        again."""
        facts: dict[str, Any] = {"call": f"{service}.{method} {path}", "subject": self.subject}
        if self.stack:
            facts["stack"] = self.stack
        if token:
            past = self.call_log.past_token if self.call_log else lambda *_: ""
            facts["token"] = past(self.subject, facts["call"], self.stack) or uuid.uuid4().hex
            query["requestId"] = str(uuid.UUID(facts["token"]))
        try:
            with logged_call(self.call_log, **facts):
                return self._send(method, service, path, query, body, repeatable=token)
        finally:
            self.account_session.reads.changed([service])
            self.refresh()

    def finished(self, service: str, operation: Mapping[str, Any]) -> None:
        """Wait for an operation that was begun here; when it went wrong, its reason is raised."""
        path, waited = _operation_path(service, operation), 0.0
        while not _is_done(operation):
            pause = min(max(0.1, waited / 10), LONGEST_PAUSE)
            if waited > OPERATION_SECONDS:
                raise Failed(f"{service}: the operation {operation['name']} does not end")
            self.sleep(pause)
            waited += pause
            self.refresh()
            operation = self.read(service, path) or {"done": True, "status": "DONE"}
        self.account_session.reads.changed([service])
        self.refresh()
        if operation.get("error"):
            raise failed(
                f"{service}.{operation.get('operationType', 'operation')}", operation, self.project
            )

    def _pages(self, service: str, path: str, key: str, query: Mapping[str, Any]) -> list[Any]:
        items: list[Any] = []
        asked, more = {**query, **_PAGES.get(service, {})}, ""
        for _ in range(MOST_PAGES):
            page = self.account_session.send(
                "GET", service, path, {**asked, **({"pageToken": more} if more else {})}, None
            )
            items += listed(page, key, f"{service} ({path})")
            more = str(page.get("nextPageToken") or "")
            if not more:
                return items
        raise BadAnswer(
            f"{service} ({path}) answered {MOST_PAGES} pages of a list, and does not come to"
            " its end"
        )

    def _read(
        self, service: str, path: str, make: Callable[[], Any], query: Mapping[str, Any]
    ) -> Any:
        key = service, path, json.dumps(query, sort_keys=True, default=str)
        retry = Retry(RETRIES, self.sleep)
        while True:
            try:
                return self.account_session.reads.read(key, service, self.not_before, make)
            except (Throttled, Unanswered, NotReached) as problem:
                if retry.exhausted:
                    raise _final(problem) from None
                retry.wait()
                self.refresh()

    def _send(
        self,
        method: str,
        service: str,
        path: str,
        query: Mapping[str, Any],
        body: Any,
        repeatable: bool,
    ) -> Any:
        retry = Retry(RETRIES, self.sleep)
        while True:
            try:
                return self.account_session.send(method, service, path, query, body)
            except (Throttled, Unanswered, NotReached) as problem:
                if (isinstance(problem, Unanswered) and not repeatable) or retry.exhausted:
                    raise _final(problem) from None
                retry.wait()
                self.refresh()


def _operation_path(service: str, operation: Mapping[str, Any]) -> str:
    if service == "compute":
        return "projects/" + str(operation["selfLink"]).partition("/projects/")[2]
    return str(operation["name"])


def _is_done(operation: Mapping[str, Any]) -> bool:
    return operation.get("status") == "DONE" or operation.get("done") is True


def _final(problem: Exception) -> Exception:
    return HostUnreachable(str(problem)) if isinstance(problem, NotReached) else problem
