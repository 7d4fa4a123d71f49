"""A step's environment variables and its timeout, in force while it runs.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

# Not `signal`: the enumerations it adds take 4 ms to import, of the 28 of an agent's start
import _signal  # type: ignore[import-not-found]
import os

from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional


class Environment:
    """Sets the step's environment variables while it runs."""

    def __init__(self, variables: Optional[dict[str, str]]) -> None:
        self.variables = variables or {}

    def __enter__(self) -> None:
        self.before = {name: os.environ.get(name) for name in self.variables}
        os.environ.update(self.variables)

    def __exit__(self, *_: object) -> None:
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Timeout:
    """Raises in the main thread when a step takes longer than its `timeout`."""

    def __init__(self, seconds: Optional[float], wire: Any) -> None:
        self.seconds, self.wire = seconds, wire

    def __enter__(self) -> None:
        if self.seconds:
            _signal.signal(_signal.SIGALRM, self._ring)
            _signal.setitimer(_signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        if self.seconds:
            _signal.setitimer(_signal.ITIMER_REAL, 0)

    def _ring(self, *_: object) -> None:
        if self.wire.lock.locked():  # raised now, it could cut a frame in two
            _signal.setitimer(_signal.ITIMER_REAL, 0.05)
            return
        seconds = f"{self.seconds:g}"
        raise Failed(
            f"Timed out after {seconds} second{'' if seconds == '1' else 's'}",
            timedout={"period": self.seconds},
        )
