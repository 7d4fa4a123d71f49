"""An address for each pod: one of the many that loopback has, so that pods do not share ports
unless they listen everywhere."""

from __future__ import annotations

import random
import threading
from zlib import crc32

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import PODS


class Addresses:
    """127.N.x.y; N differs between sandboxes on one machine, mostly. Shared as
    `context.the(Addresses)`."""

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self._net = 64 + crc32(str(context.folder).encode()) % 128
        self._lock = threading.Lock()
        self._taken: dict[str, str] = {}

    def take(self, uid: str) -> str:
        """The pod's own, the same each time until it is given back."""
        with self._lock:
            if uid not in self._taken:
                known = {
                    (pod.get("status") or {}).get("podIP") for pod in self.context.see(PODS).all()
                }
                known |= set(self._taken.values())
                free = self._any()
                while free in known:
                    free = self._any()
                self._taken[uid] = free
            return self._taken[uid]

    def give_back(self, uid: str) -> None:
        with self._lock:
            self._taken.pop(uid, None)

    def _any(self) -> str:
        return f"127.{self._net}.{random.randint(0, 255)}.{random.randint(1, 254)}"
