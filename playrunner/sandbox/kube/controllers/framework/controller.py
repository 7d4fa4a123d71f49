"""A controller: what it watches, and what it does about one key. The package's docstring is its
contract."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterable

from playrunner.sandbox.kube.controllers.framework.client import ApiError, Unreachable
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.queue import WorkQueue
from playrunner.sandbox.kube.controllers.framework.resources import (
    Key,
    Object,
    Resource,
    controller_of,
    key_of,
)

Keys = Callable[[Object], Iterable[Key]]
Watch = tuple[Resource, Keys]


def by_itself(one: Object) -> Iterable[Key]:
    """The object's own key."""
    return (key_of(one),)


def by_owner(kind: str) -> Keys:
    """The key of the controlling owner, when that is of this kind."""

    def keys(one: Object) -> Iterable[Key]:
        owner = controller_of(one)
        return (
            ((one["metadata"].get("namespace", ""), owner["name"]),)
            if owner and owner["kind"] == kind
            else ()
        )

    return keys


def for_reading(one: Object) -> Iterable[Key]:
    """No keys: the view is only read."""
    return ()


class Controller:
    """Subclasses give `name`, `watches` and `reconcile`; `prepare` and `workers` where they need
    them."""

    name = "controller"
    workers = 1  # how many keys are worked on at once

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self.queue = WorkQueue()

    def watches(self) -> Iterable[Watch]:
        raise NotImplementedError

    def reconcile(self, key: Key) -> float | None:
        raise NotImplementedError

    def prepare(self) -> None:
        """Once, after every view that it watches was listed and before the first `reconcile`."""

    def start(self) -> None:
        watches = tuple(self.watches())
        for resource, keys in watches:
            self.context.see(resource).listen(lambda one, keys=keys: self._wake(keys(one)))  # type: ignore[misc]
        threading.Thread(
            target=self._begin,
            args=([resource for resource, _ in watches],),
            name=self.name,
            daemon=True,
        ).start()

    def _wake(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self.queue.add(key)

    def _begin(self, resources: list[Resource]) -> None:
        for resource in resources:
            self.context.see(resource).synced.wait()
        self.prepare()
        for number in range(1, self.workers):
            threading.Thread(target=self._work, name=f"{self.name}-{number}", daemon=True).start()
        self._work()

    def _work(self) -> None:
        while True:
            key = self.queue.take()
            try:
                again = self.reconcile(key)
            except (ApiError, Unreachable) as error:
                if not (isinstance(error, ApiError) and error.passes):
                    print(f"{self.name} {'/'.join(key)}: {error}", file=sys.stderr, flush=True)
                self.queue.retry(key)
            except Exception:  # one object that fails must not end the work on all others
                print(
                    f"{self.name} {'/'.join(key)}:\n{traceback.format_exc()}",
                    file=sys.stderr,
                    flush=True,
                )
                self.queue.retry(key)
            else:
                self.queue.succeeded(key)
                if again is not None:
                    self.queue.add_after(key, again)
            finally:
                self.queue.done(key)
