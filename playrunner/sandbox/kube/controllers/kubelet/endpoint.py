"""Where API servers ask about pods: one stand-in kubelet for all nodes."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import PODS
from playrunner.sandbox.kube.controllers.kubelet.runtime import LocalRuntime
from playrunner.sandbox.kube.http.kubelet import Kubelet


class Endpoint:
    """Shared as `context.the(Endpoint)`; listens from the first question on."""

    def __init__(self, context: ControllerContext) -> None:
        self._kubelet = Kubelet(LocalRuntime(context), context.see(PODS).get, context.folder)
        self._kubelet.start()

    def node_status(self) -> dict[str, Any]:
        return self._kubelet.node_status()
