"""What is there of one kind, kept up to date by a watch that everybody shares."""

from __future__ import annotations

import sys
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from playrunner.sandbox.kube.controllers.framework.client import Api, ApiError, Stop, Unreachable
from playrunner.sandbox.kube.controllers.framework.resources import (
    Key,
    Object,
    Resource,
    is_leaving,
    key_of,
    uid_of,
)

Listener = Callable[
    [Object], None
]  # hears an object before and after each change, and one that went

RETRY_SECONDS = 0.2
MOST_RETRY_SECONDS = 2.0
# How many that went are known by their uid, so that a late answer does not bring one back
REMEMBERED = 4096


class View:
    """All objects of one kind, as last reported; its own thread lists, watches, and lists again
    when it must."""

    def __init__(
        self, api: Api, resource: Resource, served: Callable[[float], bool] = lambda seconds: True
    ) -> None:
        """`served` waits at most so long for the kind to be served, and says whether it is."""
        self.resource = resource
        self.synced = threading.Event()  # set when it was listed, or is known not to be served
        self.served = False  # whether the API has this kind at all
        self._api, self._served = api, served
        self._stop = Stop()
        self._lock = threading.Lock()
        self._there: dict[Key, Object] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()
        self._listeners: list[Listener] = []
        # The version of the last list; a lower one means that the server lost its state
        self._listed = 0

    def start(self) -> None:
        threading.Thread(
            target=self._run, name=f"watch-{self.resource.plural}", daemon=True
        ).start()

    def listen(self, listener: Listener) -> None:
        """Hear of every change from now on, beginning with all that is there."""
        with self._lock:
            self._listeners.append(listener)
            there = list(self._there.values())
        for one in there:
            listener(one)

    def begin_anew(self) -> None:
        """List again: the kind is not served any more, or by another definition, whose objects are
        others. A server may leave a watch of the earlier ones open, and say no more in it."""
        self._stop.set()

    def get(self, namespace: str, name: str) -> Object | None:
        return self._there.get((namespace, name))

    def all(self, namespace: str | None = None) -> list[Object]:
        """Every one, or those of a namespace, in the order of their names."""
        with self._lock:
            return [
                one
                for (within, _), one in sorted(self._there.items(), key=_by_key)
                if namespace in (None, within)
            ]

    def owned_by(self, uid: str) -> list[Object]:
        """Those that have this owner, leaving or not."""
        return [
            one
            for one in self.all()
            if any(each.get("uid") == uid for each in one["metadata"].get("ownerReferences") or ())
        ]

    def offer(self, obj: Object) -> None:
        """Something that the API answered: newer than what is here, or passed over."""
        with self._lock:
            before = self._there.get(key_of(obj))
            if uid_of(obj) in self._gone or (before is not None and not _newer(obj, before)):
                return
            self._there[key_of(obj)] = obj
        self._tell(before, obj)

    def withdraw(self, obj: Object) -> None:
        """Something that went."""
        with self._lock:
            self._gone[uid_of(obj)] = None
            while len(self._gone) > REMEMBERED:
                self._gone.popitem(last=False)
            before = self._there.get(key_of(obj))
            if before is None or uid_of(before) != uid_of(obj):
                return
            del self._there[key_of(obj)]
        self._tell(before, obj)

    def mark_leaving(self, obj: Object) -> None:
        """Something whose deletion the API accepted, before the watch says so."""
        with self._lock:
            before = self._there.get(key_of(obj))
            if before is not None and uid_of(before) == uid_of(obj) and not is_leaving(before):
                self._there[key_of(obj)] = {
                    **before,
                    "metadata": {**before["metadata"], "deletionTimestamp": "now"},
                }

    def _tell(self, *states: Object | None) -> None:
        for listener in list(self._listeners):
            for one in filter(None, states):
                try:
                    listener(one)
                # A listener that fails on one object must not end the watch of all
                # others
                except Exception:
                    print(
                        f"watch of {self.resource.plural}:\n{traceback.format_exc()}",
                        file=sys.stderr,
                        flush=True,
                    )

    def _run(self) -> None:
        pause = RETRY_SECONDS
        while True:
            stop = self._stop = Stop()  # before it is asked whether the kind is served
            if not self._served(MOST_RETRY_SECONDS):
                self._forget_all()
                continue
            try:
                version = self._list()
                while not stop.is_set:
                    version = self._watch(version, stop)
                    pause = RETRY_SECONDS
            except ApiError as error:
                if error.code == 404:
                    self._forget_all()  # a server of another version, without this kind
                elif error.code not in (410, 429):
                    print(f"watch of {self.resource.plural}: {error}", file=sys.stderr, flush=True)
                pause = 0.0 if error.code == 410 else pause
            except Unreachable:
                pass  # it may come back with its memory lost, so that only a new list tells
            if stop.is_set:
                continue
            threading.Event().wait(pause)
            pause = min(max(pause, RETRY_SECONDS) * 2, MOST_RETRY_SECONDS)

    def _list(self) -> str:
        listing = self._api.call("GET", self.resource.path())
        named = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
        }  # lists leave it out of their items
        there = {key_of(obj): named | obj for obj in listing.get("items") or ()}
        version = str(listing["metadata"]["resourceVersion"])
        began_anew = int(version) < self._listed
        self._listed = int(version)
        for obj in self.all():
            here = there.get(key_of(obj))
            if began_anew or here is None or uid_of(here) != uid_of(obj):
                self.withdraw(obj)
        if began_anew or not self.served:  # what it had went without an end of its own
            self._gone.clear()
        for obj in there.values():
            self.offer(obj)
        self.served = True
        self.synced.set()
        return version

    def _watch(self, version: str, stop: Stop) -> str:
        for event in self._api.watch(self.resource.path(), version, stop):
            version = self._heard(event)
        return version

    def _heard(self, event: dict[str, Any]) -> str:
        obj = event["object"]
        if event["type"] == "ERROR":
            raise ApiError(
                int(obj.get("code", 500)), str(obj.get("reason", "")), str(obj.get("message", ""))
            )
        if event["type"] == "DELETED":
            self.withdraw(obj)
        elif event["type"] != "BOOKMARK":
            self.offer(obj)
        return str(obj["metadata"]["resourceVersion"])

    def _forget_all(self) -> None:
        self.served = False
        for one in self.all():
            self.withdraw(one)
        self.synced.set()


def _newer(one: Object, than: Object) -> bool:
    return _version(one) > _version(than)


def _version(one: Object) -> int:
    return int(one["metadata"].get("resourceVersion") or 0)


def _by_key(item: tuple[Key, Object]) -> Key:
    return item[0]
