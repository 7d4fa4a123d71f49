"""train.size: the bytes of a run's folder on a node."""

from __future__ import annotations

import os

from playrunner.hostside.module import Probe
from playrunner.training.modules.train import _runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


class Size(Probe):
    """The bytes of a run's folder on a node; 0 where there is none."""

    answers = {"bytes": int, "marker": str}

    path: str  # the folder

    def look(self, ctx: HostContext) -> dict[str, Any]:
        path = os.path.expanduser(self.path)
        try:
            found = os.stat(path)
        except OSError:
            return {"bytes": 0, "marker": ""}
        # Nodes that share the folder see the same marker file, and its bytes count once.
        return {"bytes": _runs.size_of(path), "marker": f"{found.st_ino}-{found.st_mtime_ns}"}
