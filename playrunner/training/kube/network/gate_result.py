"""The network check of a run on a cluster: rank 0's log carries its result, which is judged, kept
and told here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.text.documents import json_object
from playrunner.training.kube.runs.follow import RecordingListener
from playrunner.training.kube.runs.rank0 import rank_of
from playrunner.training.kube.runs.run_view import ClusterRun, pods_of
from playrunner.training.netcheck.errors import GateClosed
from playrunner.training.netcheck.gate_files import keep_gate
from playrunner.training.runs.record import Record
from playrunner.training.screen.screen import LiveLine
from trainer.netcheck.findings import Expected
from trainer.netcheck.verdict import judge

GATE = "GATE {"  # how the line with the result begins
INDEX = "batch.kubernetes.io/job-completion-index"
_PREFIX = re.compile(r"\[\d+\] ")


class GateListener(RecordingListener):
    """Records a run as RecordingListener does; a failed network check ends it."""

    def __init__(
        self, record: Record, line: LiveLine, expected: Expected, reader: GateResultReader
    ) -> None:
        super().__init__(record, line)
        self._expected, self._reader = expected, reader

    def line(self, pod: str, text: str) -> None:
        super().line(pod, text)
        if not (result := self._reader.hear(pod, text)):
            return
        verdict = judge(result, self._expected)
        keep_gate(self.record.folder, result, verdict)
        if not verdict.ok:
            raise GateClosed(verdict, list(result.get("nodes", ())))
        for text_line in verdict.lines:
            self.say(f"network: {text_line}")


class GateResultReader:
    """Finds the result of a run's gate in its pods' words, and where ranks are that never came to
    it."""

    def __init__(self, kube: Kube, run: ClusterRun) -> None:
        self._kube, self._run = Kube(kube.cluster), run
        self._speakers: dict[int, str] = {}  # rank -> the pod whose log it speaks in

    def hear(self, pod: str, text: str) -> dict[str, Any] | None:
        rank = rank_of(text)
        if rank is None:
            return None
        self._speakers[rank] = pod
        result = gate_in(text) if rank == 0 else None
        return named(result, self._nodes()) if result and result.get("missing") else result

    def _nodes(self) -> dict[int, str]:
        """The node of each rank; where one pod speaks for all, they are dealt out by the pods'
        numbers."""
        pods = pods_of(self._kube, self._run)
        if self._run.kind.over_ssh:
            slots = int(self._run.summary["processes"])
            numbered = {
                int((pod["metadata"].get("annotations") or {}).get(INDEX, -1)): pod for pod in pods
            }
            return {
                rank: _node(numbered[rank // slots])
                for rank in range(int(self._run.summary["world_size"]))
                if rank // slots in numbered
            }
        known = {str(pod["metadata"]["name"]): _node(pod) for pod in pods}
        return {rank: known[pod] for rank, pod in self._speakers.items() if pod in known}


def gate_in(line: str) -> dict[str, Any] | None:
    """A gate's result in a rank's line; nothing in other lines."""
    text = line.partition("] ")[2]
    if not text.startswith(GATE):
        return None
    # Behind a part that it read before the line's end torchrun writes its prefix again.
    text = _PREFIX.sub("", text.removeprefix("GATE "))
    return json_object(text[: text.rfind("}") + 1])


def named(result: Mapping[str, Any], nodes: Mapping[int, str]) -> dict[str, Any]:
    """Ranks that never came to the gate could not say where they are."""
    names = {f"rank {rank}": node for rank, node in nodes.items() if node}
    return {
        **result,
        "nodes": list(dict.fromkeys(names.get(node, node) for node in result["nodes"])),
        "missing": [
            {**each, "node": names.get(each["node"], each["node"])} for each in result["missing"]
        ],
    }


def _node(pod: Mapping[str, Any]) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")
