"""Kubernetes as modules use it: reads that are shared, changes that may be repeated, errors in
plain words.

A `Cluster` is one API server for a whole run, a `Kube` is that server as one step sees it. The
calls go over plain HTTPS connections that stay open: a run that applies hundreds of objects spends
its time in the server, not in a client library.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from playrunner.cloud.journal import Journal
from playrunner.cloud.resource import Unanswered
from playrunner.cloud.shared_reads import SHARED_SECONDS, SharedReads
from playrunner.errors import HostUnreachable
from playrunner.hostside.module import Failed
from playrunner.kube.client import answers
from playrunner.kube.client.errors import KubeError, problem
from playrunner.kube.client.resource import Discovery, Resource
from playrunner.kube.client.transport import NoAnswer, NotReached, Transport
from playrunner.text.answers import MOST_PAGES, BadAnswer, described

MANAGER = "playrunner"  # our name as the owner of fields
RESTART_SECONDS, FIRST_SECONDS = (
    60.0,
    10.0,
)  # how long a server may be away; one never reached is given less
THROTTLED_SECONDS = 120.0
INTERNAL_ATTEMPTS = 4  # a server's inner error seldom passes
FIRST_BACKOFF, LONGEST_BACKOFF = 0.1, 5.0
PAGE = 500
_REPEATABLE = (
    "GET",
    "PATCH",
    "PUT",
    "DELETE",
)  # what is asked twice has the same end as what is asked once

Given = TypeVar("Given")
Got = TypeVar("Got")


@dataclass(frozen=True)
class Listing:
    """All objects of a kind at one moment."""

    items: list[dict[str, Any]]
    version: str  # from which on a watch tells what changed


class Cluster:
    """One API server for a whole run: connections, kinds, and the reads that steps share."""

    def __init__(self, opened: Callable[[], Transport]) -> None:
        self._opened = opened
        self._transport: Transport | None = None
        self.discovery = Discovery()
        self.reached = False
        self._reads = SharedReads()
        self._opening = threading.Lock()
        self._workers: ThreadPoolExecutor | None = None

    @property
    def transport(self) -> Transport:
        with self._opening:
            if self._transport is None:
                self._transport = self._opened()
            return self._transport

    @property
    def workers(self) -> ThreadPoolExecutor:
        most = self.transport.most
        with self._opening:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(most, "kube")
            return self._workers

    def shared(self, key: str, topic: str, not_before: float, make: Callable[[], Any]) -> Any:
        """The answer to a read that started after `not_before`, whoever started it."""
        return self._reads.read(key, topic, not_before, make)

    def changed(self, path: str) -> None:
        """What was read of these kinds before is not believed any more."""
        self._reads.changed(path.split("/")[-3:])


class Kube:
    """A cluster as one step sees it."""

    def __init__(
        self,
        cluster: Cluster,
        subject: str = "",
        journal: Journal | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.cluster, self.subject, self.journal, self.sleep = cluster, subject, journal, sleep
        self.not_before = time.monotonic() - SHARED_SECONDS

    @property
    def namespace(self) -> str:
        """The context's own."""
        return self.cluster.transport.access.namespace

    def refresh(self) -> None:
        """From now on nothing that was read earlier will do."""
        self.not_before = time.monotonic()

    def read(self, path: str, **query: Any) -> Any:
        """What is at a path; None when nothing is."""
        key = f"{path}?{json.dumps(query, sort_keys=True)}"

        def make() -> Any:
            try:
                return self.call("GET", path, **query)
            except KubeError as error:
                if error.not_found:
                    return None
                raise

        return self.cluster.shared(
            key, path.split("/")[-1 if "labelSelector" in query else -2], self.not_before, make
        )

    def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any] | None:
        path = resource.path(namespace, name)
        found: dict[str, Any] | None = self.read(path)
        return None if found is None else answers.thing(found, self._source(path))

    def listing(
        self, resource: Resource, namespace: str = "", selector: str = "", fields: str = ""
    ) -> Listing:
        """All objects of a kind, pages and all; a kind that is not served has none."""
        path = resource.path(namespace)
        query: dict[str, Any] = {"labelSelector": selector, "fieldSelector": fields}
        listing: Listing = self.cluster.shared(
            f"LIST {path}?{selector}&{fields}",
            resource.plural,
            self.not_before,
            lambda: self._pages(resource, path, query),
        )
        return listing

    def resource(self, api_version: str, kind: str) -> Resource | None:
        return self.cluster.discovery.find(self._kinds, api_version, kind)

    def known(self, api_version: str, kind: str) -> Resource:
        """The same for a kind that must be there."""
        found = self.resource(api_version, kind)
        if found is None:
            hint = self.cluster.discovery.suggestion(self._get_once, api_version, kind)
            raise Failed(
                f'the API server has no kind "{kind}" in apiVersion "{api_version}"'
                + (hint or "; if another step brings it, name that step's value in after")
            )
        return found

    def text(self, path: str, **query: Any) -> str:
        """What is at a path and is no JSON: a log."""
        return self._repeated("GET", path, None, "", query, True)[0].decode(errors="replace")

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        *,
        patient: bool = True,
        **query: Any,
    ) -> Any:
        """One call, repeated where that cannot do harm: a lost answer to a creation is Unanswered.

        Without `patient`, "too many requests" is an answer like any other (an eviction that must
        not be yet).
        """
        changes = method != "GET" and not query.get("dryRun")
        try:
            data, kind = self._repeated(method, path, body, content_type, query, patient)
            return answers.mapping(data, self._source(path), kind)
        finally:
            if changes:
                self.cluster.changed(path)
                self.refresh()

    def apply(
        self, resource: Resource, body: Mapping[str, Any], *, force: bool = False, dry: bool = False
    ) -> dict[str, Any]:
        """Server-side apply of what we declare: the object as it is then."""
        meta = body["metadata"]
        query: dict[str, Any] = {
            "fieldManager": MANAGER,
            "force": "true" if force else "false",
            "fieldValidation": "Strict",
            "dryRun": "All" if dry else "",
        }
        path = resource.path(meta.get("namespace", ""), meta["name"])
        return answers.thing(
            self.call("PATCH", path, body, "application/apply-patch+yaml", **query),
            self._source(path),
        )

    def delete(self, resource: Resource, namespace: str, name: str, uid: str = "") -> None:
        """Ask for its end; one that is gone already is no news."""
        options: dict[str, Any] = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self.call("DELETE", resource.path(namespace, name), options)
        except KubeError as error:
            if not error.not_found and not (uid and error.status == 409):
                raise

    def together(self, do: Callable[[Given], Got], items: Iterable[Given]) -> list[Got]:
        """Side by side, over the connections there are; what one of them raises is raised once all
        have ended."""
        given = list(items)
        if len(given) < 2:
            return [do(item) for item in given]
        waiting = [self.cluster.workers.submit(do, item) for item in given]
        for one in waiting:
            one.exception()
        return [one.result() for one in waiting]

    def note(self, kind: str, **facts: Any) -> None:
        if self.journal:
            self.journal.event(kind, subject=self.subject, **facts)

    def _get_once(self, path: str) -> Any:
        """Without patience: a group whose own server is away has nothing to suggest."""
        try:
            status, _, data = self.cluster.transport.send("GET", path, {})
        except (NotReached, NoAnswer):
            return None
        if status != 200:
            return None
        found = answers.mapping(data, self._source(path))
        return (answers.groups if path == "/apis" else answers.served)(found, self._source(path))

    def _kinds(self, path: str) -> Any:
        found = self.read(path)
        return None if found is None else answers.served(found, self._source(path))

    def _source(self, path: str) -> str:
        return self.cluster.transport.source(path)

    def _pages(self, resource: Resource, path: str, query: dict[str, Any]) -> Listing:
        items: list[dict[str, Any]] = []
        version, more = "", ""
        for _ in range(MOST_PAGES):
            try:
                page = self.call("GET", path, limit=PAGE, **{**query, "continue": more})
            except KubeError as error:
                if error.not_found:
                    return Listing([], "")
                if error.status != 410:
                    raise
                if not more:
                    raise  # a list from its start cannot be too old
                items, more = [], ""  # the pages grew too old to go on: once more, from the start
                continue
            items += answers.items(page, resource.kind, resource.api_version, self._source(path))
            meta = page["metadata"]
            version, more = str(meta.get("resourceVersion") or ""), str(meta.get("continue") or "")
            if not more:
                break
        else:
            raise BadAnswer(
                f"{self._source(path)} answered {MOST_PAGES} pages of a list, and does not come to"
                " its end"
            )
        for item in items:
            item["apiVersion"], item["kind"] = (
                resource.api_version,
                resource.kind,
            )  # lists leave them out
        return Listing(items, version)

    def _repeated(
        self,
        method: str,
        path: str,
        body: Any,
        content_type: str,
        query: Mapping[str, Any],
        patient: bool,
    ) -> tuple[bytes, str]:
        """What was answered, and what the server says it is."""
        transport, started, attempt, renewed = self.cluster.transport, time.monotonic(), 0, False
        while True:
            attempt += 1
            try:
                status, headers, data = transport.send(method, path, query, body, content_type)
            except NotReached as error:
                self._away(started, str(error))
            except NoAnswer as error:
                if method not in _REPEATABLE:
                    raise Unanswered(f"{method} {path}: no answer: {error}") from None
                self._away(started, str(error))
            else:
                self.cluster.reached = True
                if status < 300:
                    return (b"{}" if status == 204 else data), headers.get("Content-Type") or ""
                if status == 404 and not data.startswith((b"{", b"404 page not found")):
                    # Not the words of an API server: what another server does not have may well be
                    # there.
                    came = described(data, headers.get("Content-Type") or "")
                    raise BadAnswer(
                        f"{self._source(path)} answered 404 with {came}; does the kubeconfig name"
                        " the right address?"
                    )
                refusal = problem(status, data, method, _spelled(path), transport.access.user)
                if status == 401 and not renewed:
                    renewed = True
                    if transport.access.credentials.renew():
                        continue
                if not refusal.passing or not self._worth_it(
                    refusal, method, attempt, time.monotonic() - started, patient
                ):
                    raise refusal
                told = headers.get("Retry-After") or ""
                if told.isascii() and told.isdigit():
                    self.sleep(min(float(told), LONGEST_BACKOFF * 2))
                    continue
            most = min(FIRST_BACKOFF * 2 ** (attempt - 1), LONGEST_BACKOFF)
            self.sleep(random.uniform(most / 2, most))

    def _away(self, started: float, why: str) -> None:
        limit = RESTART_SECONDS if self.cluster.reached else FIRST_SECONDS
        if time.monotonic() - started > limit:
            server = self.cluster.transport.access.server
            raise HostUnreachable(
                f"the API server {server} has not answered for {limit:g} seconds: {why}; is the"
                " cluster up, and does the kubeconfig name the right address? (kube_via: HOST goes"
                " through a host of the inventory)"
            ) from None

    def _worth_it(
        self, refusal: KubeError, method: str, attempt: int, waited: float, patient: bool
    ) -> bool:
        if refusal.status == 429:
            return patient and waited < THROTTLED_SECONDS
        if refusal.status == 500:
            return attempt < INTERNAL_ATTEMPTS and method in _REPEATABLE
        return waited < RESTART_SECONDS and (method in _REPEATABLE or refusal.status == 503)


def _spelled(path: str) -> str:
    """A path as a reader names the thing: deployments x -n y."""
    words = [word for word in path.split("/") if word]
    words = words[2:] if words[:1] == ["api"] else words[3:]
    where = ""
    if words[:1] == ["namespaces"] and len(words) > 2:
        where, words = f" -n {words[1]}", words[2:]
    return " ".join(words) + where
