"""What the nodes say of the runs now: asked again and again while a page of training is open."""

from __future__ import annotations

import threading
import time

from playrunner.errors import PlayrunnerError
from playrunner.options import Options
from playrunner.training.runs.run import Run

IDLE_SECONDS = 60.0  # without a reader the nodes are left alone
METRICS = 1


class Live:
    """Asks in a thread of its own, so that a node that is slow to answer delays no page."""

    def __init__(self, options: Options, interval: float) -> None:
        self._options, self._interval = options, interval
        self._runs: dict[str, Run] = {}
        self._silent: dict[str, str] = {}
        self._asked = 0.0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def runs(self) -> dict[str, Run]:
        """By name, as the nodes answered last; empty at first."""
        if self._interval > 0:
            with self._lock:
                self._asked = time.monotonic()
                if self._thread is None:
                    self._thread = threading.Thread(target=self._look_on, daemon=True)
                    self._thread.start()
        return self._runs

    @property
    def known(self) -> dict[str, Run]:
        """As the nodes answered last, which are left alone."""
        return self._runs

    @property
    def silent(self) -> dict[str, str]:
        """Hosts that do not answer, with why."""
        return self._silent

    def _look_on(self) -> None:
        from playrunner.training.backend import opened_look

        try:
            with opened_look(self._options, METRICS) as look:
                while time.monotonic() - self._asked < IDLE_SECONDS:
                    seen = look()
                    self._runs = {run.name: run for run in seen.runs}
                    self._silent = dict(seen.silent)
                    time.sleep(self._interval)
        except (PlayrunnerError, OSError) as error:
            self._silent = {"the nodes": str(error)}
            time.sleep(self._interval)
        with self._lock:
            self._thread = None
