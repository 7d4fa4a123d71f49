"""The nodes of a cluster as a launch may use them, and their quarantine, which the nodes themselves
carry."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from playrunner.kube.client.client import Kube
from playrunner.kube.nodes import quarantine
from playrunner.ssh.quarantine import DEFAULT_TIME, seconds_of
from playrunner.training.kube.job_spec.job import elastic_bounds
from playrunner.training.kube.job_spec.node_capacity import look
from playrunner.training.kube.job_spec.sizing import RequestedNodes, share_of
from playrunner.training.kube.session import ClusterSession
from playrunner.training.request import LaunchRefused, Request, read_request, wanted_nodes
from playrunner.variables.templating import MISSING


class ClusterQuarantine:
    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._names = quarantine.names(kube)

    def knows(self, node: str) -> bool:
        return node in self._names

    def put(self, node: str, reason: str, seconds: float) -> object:
        return quarantine.put(self._kube, node, reason, seconds)

    def release(self, node: str) -> bool:
        return quarantine.release(self._kube, node)


class ClusterPool:
    """A job's pods leave with it, so what its nodes have is free again."""

    def __init__(self, request: Request, session: ClusterSession, launcher: str) -> None:
        self._asked, self._session, self._profile = request, session, read_request(request)
        self.store, self.wanted = (
            ClusterQuarantine(session.kube),
            wanted_nodes(request, self._profile),
        )
        bounds = elastic_bounds(self._profile, launcher, self.wanted)
        self._least = bounds[0] if bounds else self.wanted
        said = session.scope.lookup("train_quarantine")
        self.quarantine = DEFAULT_TIME if said is MISSING or not said else str(said)
        self.seconds = seconds_of(self.quarantine)

    @property
    def request(self) -> Request:
        """With as many nodes as there can be now."""
        if self.wanted == wanted_nodes(self._asked, self._profile):
            return self._asked
        return replace(
            self._asked,
            nodes=self.wanted,
            overrides=(*self._asked.overrides, f"launch.max_nodes={self.wanted}"),
        )

    def left(self, without: Collection[str]) -> list[str]:
        """Those who could take part; where they are too few, an elastic run wants fewer."""
        offered = [offer for offer in look(self._session.kube) if offer.name not in without]
        for count in range(self.wanted, self._least - 1, -1):
            try:
                share_of(
                    self._profile, offered, self._session.settings, RequestedNodes(count, count)
                )
            except LaunchRefused:
                continue
            self.wanted = count
            return [offer.name for offer in offered]
        return []

    def where(self, left: list[str]) -> str:
        fewer = self.wanted < wanted_nodes(self._asked, self._profile)
        return f"on {self.wanted} node{'s' * (self.wanted != 1)}" if fewer else "elsewhere"
