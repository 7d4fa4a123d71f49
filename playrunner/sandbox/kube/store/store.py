"""What is there, and what happened: objects by kind, a resource version that only grows, and the
history that watches read.

Objects in here are never changed in place: a write puts a new one, so that what was handed out
stays as it was.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from playrunner.sandbox.kube.schema.problems import expired

Object = dict[str, Any]
Place = tuple[str, str]  # namespace (empty when the kind has none) and name
HISTORY = 20_000  # events; a watch from before them must list again


class Moved(Exception):
    """The object is no longer what the writer saw."""


@dataclass(frozen=True)
class Event:
    """One change; `before` and `after` are None where there was or is nothing."""

    version: int
    of: tuple[str, str]
    before: Object | None
    after: Object | None

    @property
    def last(self) -> Object:
        found = self.after if self.after is not None else self.before
        assert found is not None
        return found


class Store:
    """All objects. Every write is one step: it is seen whole or not at all."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.version = 1
        self._objects: dict[tuple[str, str], dict[Place, Object]] = {}
        self._history: deque[Event] = deque(maxlen=HISTORY)
        self._oldest = 0  # events up to this version are forgotten

    def get(self, of: tuple[str, str], place: Place) -> Object | None:
        return self._objects.get(of, {}).get(place)

    def list(self, of: tuple[str, str], namespace: str = "") -> tuple[list[Object], int]:
        """The objects, in the order of their names, and the version at which that was so."""
        with self.changed:
            found = self._objects.get(of, {})
            chosen = sorted(place for place in found if not namespace or place[0] == namespace)
            return [found[place] for place in chosen], self.version

    def put(
        self, of: tuple[str, str], place: Place, seen: Object | None, wanted: Object | None
    ) -> Object:
        """Replace what the writer saw (None: nothing) by what is wanted (None: nothing)."""
        with self.changed:
            objects = self._objects.setdefault(of, {})
            if objects.get(place) is not seen:
                raise Moved
            self.version += 1
            final = wanted if wanted is not None else seen
            assert final is not None
            final = {
                **final,
                "metadata": {**final["metadata"], "resourceVersion": str(self.version)},
            }
            if wanted is None:
                del objects[place]
            else:
                objects[place] = final
            if len(self._history) == HISTORY:
                self._oldest = self._history[0].version
            # The event of a removal carries the version of the removal, so that a watch can go
            # on from it.
            self._history.append(
                Event(self.version, of, final, None)
                if wanted is None
                else Event(self.version, of, seen, final)
            )
            self.changed.notify_all()
            return final

    def since(self, version: int) -> Sequence[Event]:
        """What happened after a version; refused when that is no longer known."""
        with self.changed:
            if version < self._oldest:
                raise expired(version, self._oldest)
            events = []
            for event in reversed(self._history):
                if event.version <= version:
                    break
                events.append(event)
            return events[::-1]

    def wait_past(self, version: int, seconds: float) -> bool:
        """Until something happens after this version; says whether it did."""
        with self.changed:
            return self.changed.wait_for(lambda: self.version > version, seconds)

    def forget_history(self) -> None:
        """As a compaction does: watches from before now must list again."""
        with self.changed:
            self.version += 1
            self._oldest = self.version
            self._history.clear()
            self.changed.notify_all()

    def everything(self) -> Iterator[tuple[tuple[str, str], Object]]:
        with self.changed:
            found = [(of, one) for of, objects in self._objects.items() for one in objects.values()]
        return iter(found)

    def clear(self) -> None:
        with self.changed:
            self._objects.clear()
            self.forget_history()
