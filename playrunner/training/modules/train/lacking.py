"""train.lacking: which contents of a script's folder a node does not have yet."""

from __future__ import annotations

import os

from playrunner.hostside.module import Probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


class Lacking(Probe):
    """Which contents a node does not have yet, by their hashes."""

    answers = {"lacking": [str]}

    store: str  # the folder of contents, each named by its hash
    digests: list[str]  # those that are needed

    def look(self, ctx: HostContext) -> dict[str, Any]:
        store = os.path.expanduser(self.store)
        there = set(os.listdir(store)) if os.path.isdir(store) else set()
        return {"lacking": [digest for digest in self.digests if digest not in there]}
