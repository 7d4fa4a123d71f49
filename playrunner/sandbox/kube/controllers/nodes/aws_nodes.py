"""Machines of the pretend AWS: the instances of its EKS node groups become nodes, and its clusters
lead to this API."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from playrunner.sandbox.http.control_client import ask, endpoint_of
from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch
from playrunner.sandbox.kube.controllers.framework.resources import Key
from playrunner.sandbox.kube.controllers.machines.machines import Machine, Machines

SOURCE = "aws"
LOOK_SECONDS = 0.5


class AwsNodes(Controller):
    """Looks every now and then: the pretend AWS has no watches."""

    name = "aws-nodes"

    def watches(self) -> Iterable[Watch]:
        return ()

    def prepare(self) -> None:
        self.queue.add(("", SOURCE))
        self._known: Any = None

    def reconcile(self, key: Key) -> float | None:
        answer = self._ask("nodes")
        if answer is None and endpoint_of(self.context.folder.parent, SOURCE):
            # It is being started, or restarts: what was there is believed to be there
            return LOOK_SECONDS
        if answer != self._known:
            self._known = answer
            there = [
                Machine(**{**one, "taints": tuple(one["taints"])})
                for one in (answer or {}).get("nodes", ())
            ]
            self.context.the(Machines).put(SOURCE, there if answer and answer["clusters"] else None)
        if answer and answer["eks_endpoint"] != self.context.api.server:
            self._lead_here()
        return LOOK_SECONDS

    def _ask(self, name: str, body: Any = None) -> Any:
        return ask(self.context.folder.parent, SOURCE, name, body)

    def _lead_here(self) -> None:
        """Have its clusters name this API as their own; said again after a reset, which forgets
        it."""
        authority = base64.b64encode((self.context.folder / "ca.crt").read_bytes()).decode()
        self._ask(
            "settings",
            {"eks_endpoint": self.context.api.server, "eks_certificate_authority": authority},
        )
