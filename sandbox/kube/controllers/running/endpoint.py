"""Where API servers ask about pods: one stand-in kubelet for all nodes."""

from __future__ import annotations

from typing import Any

from sandbox.kube.controllers.resources import PODS
from sandbox.kube.controllers.running.runtime import LocalRuntime
from sandbox.kube.controllers.world import World
from sandbox.kube.kubelet import Kubelet


class Endpoint:
    """Shared as `world.the(Endpoint)`; listens from the first question on."""

    def __init__(self, world: World) -> None:
        self._kubelet = Kubelet(LocalRuntime(world), world.see(PODS).get, world.folder)
        self._kubelet.start()

    def node_status(self) -> dict[str, Any]:
        return self._kubelet.node_status()
