"""SharedReads: steps that run side by side ask a service the same things; one answer does for all
of them while it is fresh."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from typing import Any

from playrunner.frozen import frozen

# A read this old is as good as a new one for a step that has not waited for anything
SHARED_SECONDS = 1.0


class SharedReads:
    """The reads of one run at one service. What was read of a topic before it was changed is not
    believed any more."""

    def __init__(self) -> None:
        self._reads: dict[Hashable, _Read] = {}
        self._changes: dict[str, int] = {}  # how often each topic was changed by us
        self._lock = threading.Lock()

    def read(self, key: Hashable, topic: str, not_before: float, make: Callable[[], Any]) -> Any:
        """The answer to a read that any step started after `not_before`."""
        with self._lock:
            known, changes = self._reads.get(key), self._changes.get(topic, 0)
            if known and known.started >= not_before and known.changes == changes:
                answer = known.answer
            else:
                answer, known = Future(), None
                self._reads[key] = _Read(time.monotonic(), changes, answer)
        if known is None:
            try:
                answer.set_result(make())
            except BaseException as error:  # every step that shares this read gets it
                with self._lock:  # and no later one
                    if (latest := self._reads.get(key)) and latest.answer is answer:
                        del self._reads[key]
                answer.set_exception(error)
        return answer.result()

    def changed(self, topics: Iterable[str]) -> None:
        with self._lock:
            for topic in topics:
                self._changes[topic] = self._changes.get(topic, 0) + 1


@frozen
class _Read:
    started: float
    changes: int
    answer: Future[Any]
