"""The nodes of a cluster as a launch may use them, and their quarantine, which the nodes themselves
carry."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from playrunner.kube.client.client import Kube
from playrunner.kube.client.optional import if_allowed
from playrunner.kube.nodes import quarantine
from playrunner.project import program
from playrunner.training.kube.job_spec.job import elastic_bounds
from playrunner.training.kube.job_spec.node_capacity import NodeCapacity, look
from playrunner.training.kube.job_spec.sizing import RequestedNodes, share_of
from playrunner.training.kube.session import ClusterSession
from playrunner.training.quarantine_setting import CORDON, SUGGEST
from playrunner.training.request import LaunchRefused, Request, read_request, wanted_nodes


class ClusterQuarantine:
    """In the mode `suggest` nodes are left as they are, and the launch goes round them."""

    def __init__(self, kube: Kube, mode: str, avoided: Collection[str] = ()) -> None:
        self._kube, self._mode = kube, mode
        self._names = if_allowed(lambda: quarantine.names(kube), [])
        self.avoided = set(avoided)

    def knows(self, node: str) -> bool:
        return node in self._names

    def put(self, node: str, reason: str, seconds: float) -> object:
        if self._mode == SUGGEST:
            self.avoided.add(node)
            return None
        return quarantine.put(self._kube, node, reason, seconds, self._mode == CORDON)

    def release(self, node: str) -> bool:
        if self._mode == SUGGEST:
            self.avoided.discard(node)
            return True
        return quarantine.release(self._kube, node)


class ClusterPool:
    """A job's pods leave with it, so what its nodes have is free again."""

    def __init__(self, request: Request, session: ClusterSession, launcher: str) -> None:
        self._asked, self._session, self._profile = request, session, read_request(request)
        setting = session.settings.quarantine
        self.mode, self.quarantine, self.seconds = setting.mode, setting.time, setting.seconds
        self.store, self.wanted = (
            ClusterQuarantine(session.kube, setting.mode, request.avoid),
            wanted_nodes(request, self._profile),
        )
        bounds = elastic_bounds(self._profile, launcher, self.wanted)
        self._least = bounds[0] if bounds else self.wanted

    @property
    def request(self) -> Request:
        """With as many nodes as there can be now, and round those that were found bad."""
        asked = replace(self._asked, avoid=tuple(sorted(self.store.avoided)))
        if self.wanted == wanted_nodes(self._asked, self._profile):
            return asked
        return replace(
            asked,
            nodes=self.wanted,
            overrides=(*self._asked.overrides, f"launch.max_nodes={self.wanted}"),
        )

    def left(self, without: Collection[str]) -> list[str]:
        """Those who could take part; where they are too few, an elastic run wants fewer."""
        out = {*without, *self.store.avoided}
        offered = [offer for offer in self._offers() if offer.name not in out]
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

    def _offers(self) -> list[NodeCapacity]:
        return look(self._session.kube, namespace=self._session.settings.namespace)

    def told(self, leaving: list[str]) -> str:
        names = ", ".join(leaving)
        if self.mode == SUGGEST:
            return (
                f"left out of this run: {names} (others still use it; to keep all work away:"
                f" {self._command(leaving)})"
            )
        return f"quarantined: {names} ({program()} nodes.list shows it, nodes.release ends it)"

    def out_told(self, leaving: list[str]) -> str:
        if self.mode == SUGGEST:
            return (
                "; there is no spare node, and others still use it; to keep all work away:"
                f" {self._command(leaving)}"
            ).lstrip("; ")
        return (
            f"and quarantined for {self.quarantine}; there is no spare node. Once it is repaired:"
            f" {program()} nodes.release {','.join(leaving)}"
        )

    def _command(self, leaving: list[str]) -> str:
        return f"{program()} nodes.quarantine {','.join(leaving)}"

    def where(self, left: list[str]) -> str:
        fewer = self.wanted < wanted_nodes(self._asked, self._profile)
        return f"on {self.wanted} node{'s' * (self.wanted != 1)}" if fewer else "elsewhere"
