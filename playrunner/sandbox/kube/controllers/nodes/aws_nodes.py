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
        found = self._ask("nodes")
        if found is None and endpoint_of(self.world.folder.parent, SOURCE):
            # It is being started, or restarts: what was there is believed to be there
            return LOOK_SECONDS
        if found != self._known:
            self._known = found
            there = [
                Machine(**{**one, "taints": tuple(one["taints"])})
                for one in (found or {}).get("nodes", ())
            ]
            self.world.the(Machines).put(SOURCE, there if found and found["clusters"] else None)
        if found and found["eks_endpoint"] != self.world.api.server:
            self._lead_here()
        return LOOK_SECONDS

    def _ask(self, name: str, body: Any = None) -> Any:
        return ask(self.world.folder.parent, SOURCE, name, body)

    def _lead_here(self) -> None:
        """Have its clusters name this API as their own; said again after a reset, which forgets it."""
        authority = base64.b64encode((self.world.folder / "ca.crt").read_bytes()).decode()
        self._ask(
            "settings",
            {"eks_endpoint": self.world.api.server, "eks_certificate_authority": authority},
        )
