"""What is still going to happen: life cycles move on when their time has come, looked at before
every request."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable


class Timeline:
    """Things to be done at a later moment, in the order of their moments."""

    def __init__(self) -> None:
        self._ahead: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def after(self, seconds: float, happen: Callable[[], None]) -> None:
        """Let something happen; at once when there is no time to wait."""
        if seconds <= 0:
            happen()
        else:
            heapq.heappush(self._ahead, (time.monotonic() + seconds, next(self._order), happen))

    def catch_up(self) -> None:
        """Do all that is due by now."""
        while self._ahead and self._ahead[0][0] <= time.monotonic():
            heapq.heappop(self._ahead)[2]()

    def __len__(self) -> int:
        return len(self._ahead)
