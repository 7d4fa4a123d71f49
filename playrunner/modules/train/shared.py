"""train.shared: whether all nodes of a run see the same folder."""

from __future__ import annotations

import os
import time

from playrunner.module import Failed, Probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PATIENCE_SECONDS = 10.0  # a network file system may show another node's new folder a little later


class Shared(Probe):
    """All nodes of a run see the same folder: each has made its own part, and finds the others' there."""

    reaches_out = True

    run: str  # the run's folder
    hosts: list[str]  # the nodes that have made their parts of it

    def look(self, ctx: Any) -> dict[str, Any]:
        if ctx.check:
            return {"unknown": True, "skipped": True}  # the parts are not made
        deadline = time.monotonic() + _PATIENCE_SECONDS
        missing = self._missing()
        while missing and time.monotonic() < deadline:
            time.sleep(0.2)
            missing = self._missing()
        if missing:
            raise Failed(f"{self.run} is not the same folder on all nodes: {', '.join(missing)} cannot be seen from here."
                         " Every node writes a part of each checkpoint: set train_root to a folder that all mount (EFS, FSx)")
        return {"hosts": self.hosts}

    def _missing(self) -> list[str]:
        folder = os.path.join(os.path.expanduser(self.run), "nodes")
        seen = os.listdir(folder) if os.path.isdir(folder) else []
        return [host for host in self.hosts if host not in seen]
