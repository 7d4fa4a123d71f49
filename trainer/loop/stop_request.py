"""A request to stop training: SIGTERM, kept until the current step is done."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

# Launchers on all nodes restart their ranks within a second. When one pod alone is evicted, no
# signal comes here.
_OWN_SIGNAL_SECONDS = float(os.environ.get("TRAINER_SIGNAL_SECONDS") or 30.0)


class StopRequest:
    """SIGTERM, and whether it ends the run or only its processes.

    Under a supervisor the run ends only when that has requested it in the node's folder: a launcher
    that restarts its ranks because a node has joined sends the same signal.
    """

    def __init__(self) -> None:
        self.asked, self.since = False, 0.0
        node = os.environ.get("TRAINER_NODE")
        self._stop_file = Path(node) / "stop" if node else None
        signal.signal(signal.SIGTERM, self._on_sigterm)

    @property
    def ends_run(self) -> bool:
        return self.asked and (self._stop_file is None or self._stop_file.exists())

    def await_own(self) -> None:
        """Wait for this process's own SIGTERM: one that ended before would count as finished or
        failed."""
        deadline = time.monotonic() + _OWN_SIGNAL_SECONDS
        while not self.asked and time.monotonic() < deadline:
            time.sleep(0.02)

    def _on_sigterm(self, *_: object) -> None:
        self.asked, self.since = True, time.monotonic()
