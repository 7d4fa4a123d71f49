"""Retry: how long to wait between the attempts at one call, and when to give up.

What may be repeated is for each client to decide: only it knows whether a call was done.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from playrunner.frozen import frozen


@frozen
class RetryPolicy:
    """Exponential back-off with jitter: each wait is at most twice the one before."""

    attempts: int | None = None  # None: the client has a limit of its own
    first_seconds: float = 0.1
    longest_seconds: float = 10.0

    @property
    def longest_retry_after(self) -> float:
        """A server may ask for longer waits than our own, within reason."""
        return self.longest_seconds * 2


class Retry:
    """The attempts at one call: counted, timed, with a wait after each one that failed."""

    def __init__(self, policy: RetryPolicy, sleep: Callable[[float], None] = time.sleep) -> None:
        self._policy, self._sleep = policy, sleep
        self._started = time.monotonic()
        self.attempt = 1  # the one under way

    @property
    def seconds(self) -> float:
        """Since the first attempt began."""
        return time.monotonic() - self._started

    @property
    def exhausted(self) -> bool:
        """Whether the attempt under way is the last one."""
        return self._policy.attempts is not None and self.attempt >= self._policy.attempts

    def wait(self, retry_after: str | None = None) -> None:
        """Before the next attempt: as long as a Retry-After header asks for, in seconds, or with
        back-off."""
        self._sleep(self._delay(retry_after or ""))
        self.attempt += 1

    def _delay(self, retry_after: str) -> float:
        if retry_after.isascii() and retry_after.isdigit():
            return min(float(retry_after), self._policy.longest_retry_after)
        exponent = min(self.attempt - 1, 32)  # far beyond the longest wait, far below overflow
        longest = min(self._policy.first_seconds * 2**exponent, self._policy.longest_seconds)
        return random.uniform(longest / 2, longest)
