"""Waiting for a cluster: told of every change by watches, which go on after a dropped connection or
a restarted server."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from playrunner.errors import HostUnreachable, PlayrunnerError
from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.kube.client import answers
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import problem
from playrunner.kube.client.requests import RESTART_SECONDS
from playrunner.kube.client.resource import Resource
from playrunner.kube.client.transport import NoAnswer, NotReached, Stream

ASKED_SECONDS = 240  # after which the server ends a watch, and a new one is opened
# A live watch says something (a bookmark) every minute or so; one that does not is dead
SILENCE_SECONDS = 90.0
LOOK_SECONDS = 0.5  # how soon one who waits notices that the run is being stopped
GATHER_SECONDS = 0.02  # changes come in bursts, and one judgement does for a burst
_LONGEST_PAUSE = 2.0

Key = tuple[str, str]  # namespace and name
Objects = dict[Key, dict[str, Any]]


@frozen
class Collection:
    """Objects of one kind that are watched."""

    resource: Resource
    namespace: str = ""
    selector: str = ""
    fields: str = ""


@frozen
class Event:
    """One change: `gone` when the object was deleted."""

    collection: Collection
    thing: dict[str, Any] = field(default_factory=dict)
    gone: bool = False

    @property
    def key(self) -> Key:
        return key_of(self.thing)


def key_of(thing: dict[str, Any]) -> Key:
    meta = thing.get("metadata") or {}
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")


def watch_until(
    kube: Kube,
    collections: Sequence[Collection],
    judge: Callable[[dict[Collection, Objects]], str],
    seconds: float,
    progress: Callable[[str], None] = lambda text: None,
) -> str:
    """Wait until the judge has nothing to say about what is there; what it says when the time is
    over is given back."""
    deadline = time.monotonic() + seconds
    kube.refresh()
    listings = kube.together(
        lambda collection: kube.listing(
            collection.resource, collection.namespace, collection.selector, collection.fields
        ),
        collections,
    )
    seen = {
        collection: {key_of(item): item for item in listing.items}
        for collection, listing in zip(collections, listings, strict=True)
    }
    missing = judge(seen)
    if not missing or seconds <= 0:
        return missing
    with News(kube) as news:
        for collection, listing in zip(collections, listings, strict=True):
            news.follow(collection, listing.version, set(seen[collection]))
        while missing and time.monotonic() < deadline:
            progress(missing)
            for event in news.wait(min(LOOK_SECONDS, max(0.0, deadline - time.monotonic()))):
                seen[event.collection].pop(event.key, None)
                if not event.gone:
                    seen[event.collection][event.key] = event.thing
            kube.sleep(0)  # ends here when the run is being stopped
            missing = judge(seen)
    return missing


class News:
    """What happens in several collections, each followed by a thread of its own."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._queue: queue.SimpleQueue[Event | PlayrunnerError | Failed] = queue.SimpleQueue()
        self._watches: list[Watch] = []

    def __enter__(self) -> News:
        return self

    def __exit__(self, *_: object) -> None:
        for watch in self._watches:
            watch.stop()

    def follow(self, collection: Collection, since: str, known: set[Key]) -> None:
        watch = Watch(self._kube, collection, since, known)
        self._watches.append(watch)

        def work() -> None:
            try:
                for event in watch:
                    self._queue.put(event)
            except (PlayrunnerError, Failed) as error:  # raised again in wait()
                self._queue.put(error)

        threading.Thread(
            target=work, name=f"watch {collection.resource.plural}", daemon=True
        ).start()

    def wait(self, seconds: float) -> list[Event]:
        """What has happened, as soon as anything has."""
        events: list[Event] = []
        try:
            event = self._queue.get(timeout=seconds)
            while True:
                if not isinstance(event, Event):
                    raise event
                events.append(event)
                event = (
                    self._queue.get(timeout=GATHER_SECONDS)
                    if len(events) < 1000
                    else self._queue.get_nowait()
                )
        except queue.Empty:
            return events


class Watch:
    """One collection's changes, one after the other, until it is stopped."""

    def __init__(self, kube: Kube, collection: Collection, since: str, known: set[Key]) -> None:
        self._kube = Kube(kube.cluster, kube.subject, None, self._pause)
        self._collection, self._since, self._known = collection, since, known
        self._stopped = threading.Event()
        self._stream: Stream | None = None

    def stop(self) -> None:
        self._stopped.set()
        stream = self._stream
        if stream:
            stream.close()

    def __iter__(self) -> Iterator[Event]:
        silent_since, pause = time.monotonic(), 0.05
        while not self._stopped.is_set():
            try:
                stream = self._opened()
            except (NotReached, NoAnswer) as error:
                if time.monotonic() - silent_since > RESTART_SECONDS:
                    raise HostUnreachable(
                        f"the API server has not answered for {RESTART_SECONDS:g} seconds: {error}"
                    ) from None
                stream = None
            if stream is None:
                self._stopped.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            opened = time.monotonic()
            if stream.status == 200:
                yield from self._events(stream)
            elif not self._passes(stream):
                return
            silent_since = time.monotonic()
            # One that ends as soon as it is opened is not asked for again at once.
            pause = 0.05 if silent_since - opened > 1 else min(2 * pause, _LONGEST_PAUSE)
            self._stopped.wait(pause)
            if not self._since and not self._stopped.is_set():
                yield from self._relist()

    def _opened(self) -> Stream:
        collection = self._collection
        query = {
            "watch": "true",
            "resourceVersion": self._since,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": ASKED_SECONDS,
            "labelSelector": collection.selector,
            "fieldSelector": collection.fields,
        }
        transport = self._kube.cluster.transport
        self._stream = transport.stream(
            collection.resource.path(collection.namespace), query, SILENCE_SECONDS
        )
        return self._stream

    def _events(self, stream: Stream) -> Iterator[Event]:
        source = self._kube.cluster.transport.source(
            self._collection.resource.path(self._collection.namespace)
        )
        for line in stream.lines(whole=True):
            resource = self._collection.resource
            event = answers.event(line, resource.kind, resource.api_version, source)
            kind, thing = event["type"], event["object"]
            if kind == "ERROR":
                self._since = ""  # mostly 410: too old to go on from
                return
            self._since = str((thing.get("metadata") or {}).get("resourceVersion") or self._since)
            if kind != "BOOKMARK":
                yield self._event(thing, gone=kind == "DELETED")

    def _event(self, thing: dict[str, Any], gone: bool) -> Event:
        (self._known.discard if gone else self._known.add)(key_of(thing))
        return Event(self._collection, thing, gone)

    def _relist(self) -> Iterator[Event]:
        """List everything again, since events were missed in between."""
        one = self._collection
        self._kube.refresh()
        listing = self._kube.listing(one.resource, one.namespace, one.selector, one.fields)
        there = {key_of(item) for item in listing.items}
        for namespace, name in self._known - there:
            yield self._event({"metadata": {"namespace": namespace, "name": name}}, gone=True)
        for item in listing.items:
            yield self._event(item, gone=False)
        self._since = listing.version

    def _passes(self, stream: Stream) -> bool:
        """Whether a watch that was refused may be asked for again; otherwise it raises what was
        said."""
        refusal = problem(stream.status, stream.all(), "watch", self._collection.resource.spelled)
        stream.close()
        if refusal.status in (404, 410):
            self._since = ""
            return True
        if refusal.status == 401 and self._kube.cluster.transport.access.credentials.renew():
            return True
        if not refusal.passing:
            raise refusal
        return True

    def _pause(self, seconds: float) -> None:
        self._stopped.wait(seconds)
