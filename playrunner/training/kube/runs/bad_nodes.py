"""Nodes with a fault of their own under a run that is followed: named with the evidence, and put
into quarantine where train_quarantine says so and a spare is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from playrunner.errors import HostUnreachable
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.nodes import quarantine
from playrunner.kube.watch.explain import PODS
from playrunner.project import program
from playrunner.training.diagnosis import blame
from playrunner.training.diagnosis.blame import End, Finding, Suspect
from playrunner.training.kube.job_spec.node_capacity import ENDED, NODES, look
from playrunner.training.kube.job_spec.pod import CONTAINER
from playrunner.training.kube.runs.run_view import ClusterRun, pods_of
from playrunner.training.quarantine_setting import CORDON, SUGGEST, QuarantineSetting

LOOK_SECONDS = 15.0  # from one look at the nodes' conditions to the next
LOG_LINES = 200  # of a container that ended: what torchrun prints last is about its own end
_ASKED_TO_END = (0, 75, 143)  # exit codes of a trainer that was told to go
# Conditions that are True on a healthy node; those beside Ready are set by node monitors.
_HEALTHY = {
    "Ready": blame.NODE,
    "AcceleratedHardwareReady": blame.DEVICE,
    "NetworkingReady": blame.NETWORK,
    "StorageReady": blame.NODE,
    "KernelReady": blame.NODE,
    "ContainerRuntimeReady": blame.NODE,
}


class BadNodes:
    """Watches the pods of a run for ends, and its nodes for what the cluster says of them."""

    def __init__(
        self,
        kube: Kube,
        run: ClusterRun,
        say: Callable[[str], None],
        setting: QuarantineSetting | None = None,
    ) -> None:
        self._kube, self._run, self._say = Kube(kube.cluster), run, say
        self._setting = setting or QuarantineSetting()
        self._ends: dict[tuple[str, str, float], End] = {}
        self._nodes: set[str] = set()
        self._judged: set[str] = set()
        self._looked = time.monotonic()

    def observe(self, pod: dict[str, Any]) -> None:
        node = str((pod.get("spec") or {}).get("nodeName") or "")
        self._nodes |= {node} - {""}
        fresh = [end for end in ends_of(pod) if _key(end) not in self._ends]
        for end in fresh:
            self._ends[_key(end)] = with_lines(self._kube, self._run.namespace, pod, end)
        if fresh:
            self._judge_all({})

    def idle(self) -> None:
        """Now and then, what the cluster itself says of the nodes in use."""
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = time.monotonic()
            self._judge_all(conditions_of(self._kube, self._nodes))

    def _judge_all(self, conditions: dict[str, Finding]) -> None:
        for suspect in blame.suspects(list(self._ends.values()), self._nodes, conditions):
            if suspect.proved and suspect.node not in self._judged and self._judge(suspect):
                self._judged.add(suspect.node)

    def _judge(self, suspect: Suspect) -> bool:
        """Whether that is all there is to do; else it is tried again at the node's next end."""
        node, reason = suspect.node, reason_of(suspect, self._run)
        if self._setting.mode == SUGGEST:
            self._say(advice(suspect, self._run))
            return True
        try:
            spare = self._spare(node)
            if not spare:
                self._say(f"{node}: {reason}; it stays in use, since there is no spare node")
                return False
            cordon = self._setting.mode == CORDON
            quarantine.put(self._kube, node, reason, self._setting.seconds, cordon)
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
            f"{node} is in quarantine for {self._setting.time}: {reason}; {spare} can take its"
            f" place (release it with: {program()} nodes.release {node})"
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
            for offer in look(self._kube, namespace=self._run.namespace)
            if offer.usable
            and offer.name not in {*used, bad}
            and not any(effect != "PreferNoSchedule" for _, _, effect in offer.taints)
        ]
        return free[0] if free else ""


def reason_of(suspect: Suspect, run: ClusterRun) -> str:
    return f"a fault of its {suspect.kind} under {run.name}: {suspect.why}".replace(
        "its node", "the node"
    )


def advice(suspect: Suspect, run: ClusterRun) -> str:
    again = (
        f"; kubectl delete pod -n {run.namespace} {suspect.pod}, and it comes back elsewhere"
        if suspect.pod
        else ""
    )
    return (
        f"{suspect.node}: {reason_of(suspect, run)}; keep work away from it: {program()}"
        f" nodes.quarantine {suspect.node}{again}"
    )


def suspects_of(kube: Kube, run: ClusterRun) -> list[Suspect]:
    """From what the pods still tell: a container remembers how it ended last, and how often it was
    started again."""
    pods = run.pods
    ends = [with_lines(kube, run.namespace, pod, end) for pod in pods for end in ends_of(pod)]
    nodes = {str((pod.get("spec") or {}).get("nodeName") or "") for pod in pods} - {""}
    return blame.suspects(ends, nodes, conditions_of(kube, nodes), restarts_of(pods))


def restarts_of(pods: Sequence[dict[str, Any]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for pod in pods:
        node = str((pod.get("spec") or {}).get("nodeName") or "")
        for one in (pod.get("status") or {}).get("containerStatuses") or ():
            if one.get("name") == CONTAINER:
                counts[node] = counts.get(node, 0) + int(one.get("restartCount") or 0)
    return counts


def conditions_of(kube: Kube, nodes: Iterable[str]) -> dict[str, Finding]:
    """What the cluster says is wrong with these nodes; nothing where the user may not see them."""
    wanted = set(nodes)
    if not wanted:
        return {}
    try:
        kube.refresh()
        items = kube.listing(NODES).items
    except (KubeError, HostUnreachable):
        return {}
    findings = {}
    for node in items:
        name = str(node["metadata"]["name"])
        for condition in (node.get("status") or {}).get("conditions") or ():
            kind, status = str(condition.get("type")), str(condition.get("status"))
            if name in wanted and kind in _HEALTHY and status != "True":
                text = " ".join(
                    str(condition.get("message") or condition.get("reason") or "").split()
                )
                findings[name] = Finding(
                    _HEALTHY[kind], f"its condition {kind} is {status}: {text}"
                )
    return findings


def ends_of(pod: dict[str, Any]) -> list[End]:
    """How the trainer's container ended in this pod, as far as it still tells; not when it was told
    to."""
    node, name = str((pod.get("spec") or {}).get("nodeName") or ""), str(pod["metadata"]["name"])
    if not node or pod["metadata"].get("deletionTimestamp"):
        return []
    reason = str((pod.get("status") or {}).get("reason") or "")  # the pod's own: Evicted, NodeLost
    ends = [
        state["terminated"]
        for container in (pod.get("status") or {}).get("containerStatuses") or ()
        if container.get("name") == CONTAINER
        for state in (container.get("lastState") or {}, container.get("state") or {})
        if state.get("terminated")
    ]
    return [
        End(
            node,
            name,
            _moment(end),
            end.get("exitCode"),
            reason or str(end.get("reason") or ""),
            tuple(str(end.get("message") or "").splitlines()),
            str(end.get("containerID") or ""),
        )
        for end in ends
        if end.get("exitCode") not in _ASKED_TO_END
    ]


def with_lines(kube: Kube, namespace: str, pod: dict[str, Any], end: End) -> End:
    """The same end with the last lines of that container."""
    previous = not any(
        str((container.get("state") or {}).get("terminated", {}).get("containerID") or "")
        == end.container
        for container in (pod.get("status") or {}).get("containerStatuses") or ()
        if container.get("name") == CONTAINER and (container.get("state") or {}).get("terminated")
    )
    try:
        text = kube.text(
            f"{PODS.path(namespace, end.pod)}/log",
            container=CONTAINER,
            tailLines=LOG_LINES,
            previous="true" if previous else "",
        )
    except (KubeError, HostUnreachable):
        return end  # it has gone meanwhile, or its node does not answer
    return End(
        end.node,
        end.pod,
        end.moment,
        end.code,
        end.reason,
        (*end.lines, *text.splitlines()),
        end.container,
    )


def _key(end: End) -> tuple[str, str, float]:
    return end.pod, end.container, end.moment


def _moment(end: dict[str, Any]) -> float:
    text = str(end.get("finishedAt") or "")
    return datetime.fromisoformat(text).timestamp() if text else 0.0
