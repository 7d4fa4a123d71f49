"""train.shared: which nodes of a run see the same folder as this one."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Failed, Probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


_PATIENCE_SECONDS = 10.0  # a network file system may show another node's new file a little later
_GLANCE_SECONDS = 2.0  # the same where it is not known whether there is anything to see


class Shared(Probe):
    """Which nodes of a run see the same folder: each writes a marker file there, and finds the
    others'."""

    reaches_out = True

    run: str  # the run's folder
    host: str = ""  # this node's name among `hosts`
    hosts: list[str]  # the nodes that have written their markers in it
    run_id: str  # which attempt of the run; markers of an earlier one do not count
    required: bool = False  # whether all must see the same folder

    def look(self, ctx: HostContext) -> dict[str, Any]:
        if ctx.check:
            return {"unknown": True, "skipped": True}  # the markers are not there
        deadline = time.monotonic() + (_PATIENCE_SECONDS if self.required else _GLANCE_SECONDS)
        seen = self._seen()
        while len(seen) < len(self.hosts) and time.monotonic() < deadline:
            time.sleep(0.1)
            seen = self._seen()
        missing = [host for host in self.hosts if host not in seen]
        if missing and self.required:
            raise Failed(
                f"{self.run} is not the same folder on all nodes: {', '.join(missing)} cannot be"
                " seen from here; set train_root to a folder that all mount (EFS, FSx), or"
                " train_shared: auto to keep a copy on each"
            )
        return {"sees": seen, "next": self._next(seen), "apart": bool(missing)}

    def _next(self, seen: list[str]) -> str:
        """The node after this one among those it sees. Where each node sees what the next one sees,
        all agree: n comparisons, where comparing each with each would take n squared."""
        return seen[(seen.index(self.host) + 1) % len(seen)] if self.host in seen else ""

    def _seen(self) -> list[str]:
        folder = os.path.join(os.path.expanduser(self.run), "markers")
        os.utime(folder)  # a network file system looks again at a folder that was touched
        return [host for host in self.hosts if _read(os.path.join(folder, host)) == self.run_id]


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""
