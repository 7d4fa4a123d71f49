"""train.memory: who holds the memory of a node's devices, and whether that is a run that should be
gone."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Probe
from playrunner.training.modules.train import _devices, _processes, _runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


_LOOK_SECONDS = 0.2


class Memory(Probe):
    """Who holds the memory of a node's devices, and whether that is a run that should be gone."""

    answers = {"holders": [{"pid": int, "mib": float, "device": str, "name": str, "ours": bool}]}

    run: str  # the run's folder on the node
    host: str  # the node's name in the run
    # For a driver to take back what processes held that have just ended
    patience_seconds: float = 0.0

    def look(self, ctx: HostContext) -> dict[str, Any]:
        folder = os.path.expanduser(self.run)
        mark = str(_runs.supervisor_of(folder, self.host).get("mark", ""))
        ended = _runs.ended(folder, self.host)
        deadline = time.monotonic() + self.patience_seconds
        found = _held(ctx, mark, ended)
        while any(each["ours"] for each in found) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
            found = _held(ctx, mark, ended)
        return {"holders": found}


def _held(ctx: HostContext, mark: str, ended: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {**each, "name": _processes.name(each["pid"]), "ours": _is_ours(each["pid"], mark, ended)}
        for each in _devices.holders(ctx)
    ]


def _is_ours(pid: int, mark: str, ended: dict[str, str]) -> bool:
    """By its mark; a process that is gone while its memory is not, by having been one of those that
    were stopped."""
    if mark and _processes.environment(pid).get("PLAYRUNNER_RUN") == mark:
        return True
    return str(pid) in ended and _processes.started(pid) in ("", ended[str(pid)])
