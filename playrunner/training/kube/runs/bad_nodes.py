"""Nodes on which a run fails again: the second time one is quarantined, its pod is deleted,
and a spare joins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from playrunner.errors import HostUnreachable
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.nodes import quarantine
from playrunner.kube.watch.explain import PODS
from playrunner.project import program
from playrunner.ssh.quarantine import DEFAULT_TIME, seconds_of
from playrunner.training.kube.job_spec.node_capacity import ENDED, look
from playrunner.training.kube.job_spec.pod import CONTAINER
from playrunner.training.kube.runs.run_view import ClusterRun, pods_of

OFTEN = 2
# A pod that fails this soon after one of another node may fail because of it
IN_TURN_SECONDS = 30.0
_ASKED_TO_END = (0, 75, 143)  # exit codes of a trainer that was told to go


@dataclass(frozen=True)
class Failure:
    node: str
    pod: str
    moment: float
    why: str
    container: str = ""  # which run of the container: two may end within one second


class BadNodes:
    """Watches the pods of a run for failures."""

    def __init__(self, kube: Kube, run: ClusterRun, say: Callable[[str], None]) -> None:
        self._kube, self._run, self._say = Kube(kube.cluster), run, say
        self._failures: set[Failure] = set()
        self._judged: set[str] = set()

    def observe(self, pod: dict[str, Any]) -> None:
        found = set(failures_of(pod)) - self._failures
        self._failures |= found
        for node in {failure.node for failure in found} - self._judged:
            own = [failure for failure in culprits(self._failures) if failure.node == node]
            if len(own) >= OFTEN and self._judge(node, own[-1].why):
                self._judged.add(node)

    def _judge(self, node: str, why: str) -> bool:
        """Whether it was quarantined; where that fails, it is tried again at its next failure."""
        reason = f"{self._run.name} failed on it {OFTEN} times, last: {why}"
        try:
            spare = self._spare(node)
            if not spare:
                self._say(f"{node}: {reason}; it stays in use, since there is no spare node")
                return False
            quarantine.put(self._kube, node, reason, seconds_of(DEFAULT_TIME))
            for pod in pods_of(self._kube, self._run):
                ended = (pod.get("status") or {}).get(
                    "phase"
                ) in ENDED  # those tell later why it failed
                if (pod.get("spec") or {}).get("nodeName") == node and not ended:
                    self._kube.call(
                        "DELETE", PODS.path(self._run.namespace, str(pod["metadata"]["name"]))
                    )
        except (KubeError, HostUnreachable) as error:
            self._say(f"{node}: {reason}; it could not be quarantined: {error}")
            return False
        self._say(
            f"{node} is in quarantine for {DEFAULT_TIME}: {reason}; {spare} can take its place"
            f" (release it with: {program()} nodes.release {node})"
        )
        return True

    def _spare(self, bad: str) -> str:
        """A node that may run a pod and has none of this run."""
        self._kube.refresh()
        used = {
            str((pod.get("spec") or {}).get("nodeName")) for pod in pods_of(self._kube, self._run)
        }
        free = [
            offer.name
            for offer in look(self._kube)
            if offer.usable
            and offer.name not in {*used, bad}
            and not any(effect != "PreferNoSchedule" for _, _, effect in offer.taints)
        ]
        return free[0] if free else ""


@dataclass(frozen=True)
class Suspect:
    """A node on which a detached run failed repeatedly."""

    node: str
    pod: str
    times: int
    why: str

    def advice(self, run: ClusterRun) -> str:
        return (
            f"{self.node}: {run.name} failed on it {self.times} times, last: {self.why}; keep work"
            f" away, and let the pod come back elsewhere: {program()} nodes.quarantine {self.node};"
            f" kubectl delete pod -n {run.namespace} {self.pod}"
        )


def suspects(pods: Sequence[dict[str, Any]]) -> list[Suspect]:
    """From what the pods still tell: a container remembers how it ended last, and how often it was
    started again."""
    own = culprits(failure for pod in pods for failure in failures_of(pod))
    suspects_found = []
    for node in sorted({failure.node for failure in own}):
        there = [failure for failure in own if failure.node == node]
        again = sum(
            _restarts(pod) for pod in pods if (pod.get("spec") or {}).get("nodeName") == node
        )
        times = max(len(there), again)
        if times >= OFTEN:
            suspects_found.append(Suspect(node, there[-1].pod, times, there[-1].why))
    return suspects_found


def _restarts(pod: dict[str, Any]) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return sum(
        int(one.get("restartCount") or 0) for one in statuses if one.get("name") == CONTAINER
    )


def failures_of(pod: dict[str, Any]) -> list[Failure]:
    """How the trainer's container ended in this pod, as far as it still tells; not when it was told
    to."""
    node, name = str((pod.get("spec") or {}).get("nodeName") or ""), str(pod["metadata"]["name"])
    if not node or pod["metadata"].get("deletionTimestamp"):
        return []
    statuses = [
        container
        for container in (pod.get("status") or {}).get("containerStatuses") or ()
        if container.get("name") == CONTAINER
    ]
    ends = [
        state["terminated"]
        for container in statuses
        for state in (container.get("lastState") or {}, container.get("state") or {})
        if state.get("terminated")
    ]
    return [
        Failure(
            node,
            name,
            _moment(end),
            f"{end.get('reason') or 'Error'} (exit code {end.get('exitCode')})",
            str(end.get("containerID") or ""),
        )
        for end in ends
        if end.get("exitCode") not in _ASKED_TO_END
    ]


def culprits(failures: Iterable[Failure]) -> list[Failure]:
    """Those that did not merely follow from the failure of another node, oldest first."""
    found: list[Failure] = []
    for failure in sorted(failures, key=lambda each: each.moment):
        others = (one for one in found if one.node != failure.node)
        if not any(failure.moment - one.moment < IN_TURN_SECONDS for one in others):
            found.append(failure)
    return found


def _moment(end: dict[str, Any]) -> float:
    text = str(end.get("finishedAt") or "")
    return datetime.fromisoformat(text).timestamp() if text else 0.0
