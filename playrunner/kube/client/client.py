"""Kubernetes as modules use it: reads that are shared, changes that may be repeated, errors in
plain words.

A `Cluster` is one API server for a whole run, a `Kube` is that server as one step sees it. The
calls go over plain HTTPS connections that stay open: a run that applies hundreds of objects spends
its time in the server, not in a client library.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from playrunner.cloud.call_log import CallRecorder
from playrunner.cloud.shared_reads import SHARED_SECONDS, SharedReads
from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.kube.client import answers
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.requests import Requests
from playrunner.kube.client.resource import Discovery, Resource
from playrunner.kube.client.transport import NoAnswer, NotReached, Transport
from playrunner.text.answers import MOST_PAGES, BadAnswer

_ESCAPED = re.compile(r"\\(.)")
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
MANAGER = "playrunner"  # our name as the owner of fields
PAGE = 500

Item = TypeVar("Item")
Result = TypeVar("Result")


@frozen
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
        self._warnings: dict[str, bool] = {}  # each text, and whether it was taken
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
        """The answer to a read that started after `not_before`, in this step or another."""
        return self._reads.read(key, topic, not_before, make)

    def hear_warnings(self, headers: Iterable[str]) -> None:
        """What the server says of a call that it answered: deprecated kinds, fields that it does
        not know, rules that would be broken."""
        for header in headers:  # a server sends one for each
            for text in _WARNING.findall(header):
                self._warnings.setdefault(_ESCAPED.sub(r"\1", text), False)

    def take_warnings(self) -> list[str]:
        """Those that nobody has taken yet, each once."""
        fresh = [text for text, taken in list(self._warnings.items()) if not taken]
        self._warnings.update(dict.fromkeys(fresh, True))
        return fresh

    def changed(self, path: str) -> None:
        """Earlier reads of these kinds are no longer used."""
        self._reads.changed(path.split("/")[-3:])


class Kube:
    """A cluster as one step sees it."""

    def __init__(
        self,
        cluster: Cluster,
        subject: str = "",
        call_log: CallRecorder | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.cluster, self.subject, self.call_log, self.sleep = cluster, subject, call_log, sleep
        self.not_before = time.monotonic() - SHARED_SECONDS
        self._requests = Requests(cluster, sleep)

    @property
    def namespace(self) -> str:
        """The context's own."""
        return self.cluster.transport.access.namespace

    def refresh(self) -> None:
        """From now on, use no earlier read."""
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
        body: dict[str, Any] | None = self.read(path)
        return None if body is None else answers.thing(body, self._source(path))

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
        resource = self.resource(api_version, kind)
        if resource is None:
            hint = self.cluster.discovery.suggestion(self._get_once, api_version, kind)
            raise Failed(
                f'the API server has no kind "{kind}" in apiVersion "{api_version}"'
                + (hint or "; if another step creates it, name that step's value in after")
            )
        return resource

    def text(self, path: str, **query: Any) -> str:
        """What is at a path and is no JSON: a log."""
        return self._requests.send("GET", path, None, "", query, True)[0].decode(errors="replace")

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
            data, kind = self._requests.send(method, path, body, content_type, query, patient)
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
        """Delete an object; one that does not exist any more is no error."""
        options: dict[str, Any] = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self.call("DELETE", resource.path(namespace, name), options)
        except KubeError as error:
            if not error.not_found and not (uid and error.status == 409):
                raise

    def together(self, do: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Side by side, over the connections there are; what one of them raises is raised once all
        have ended."""
        listed = list(items)
        if len(listed) < 2:
            return [do(item) for item in listed]
        futures = [self.cluster.workers.submit(do, item) for item in listed]
        for future in futures:
            future.exception()
        return [future.result() for future in futures]

    def note(self, kind: str, **facts: Any) -> None:
        if self.call_log:
            self.call_log.event(kind, subject=self.subject, **facts)

    def _get_once(self, path: str) -> Any:
        """Without retries: a group whose own server is down has nothing to suggest."""
        try:
            status, _, data = self.cluster.transport.send("GET", path, {})
        except (NotReached, NoAnswer):
            return None
        if status != 200:
            return None
        body = answers.mapping(data, self._source(path))
        return (answers.groups if path == "/apis" else answers.served)(body, self._source(path))

    def _kinds(self, path: str) -> Any:
        body = self.read(path)
        return None if body is None else answers.served(body, self._source(path))

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
                items, more = [], ""  # the pages are too old to go on: start again
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
