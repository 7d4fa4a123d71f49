"""What Neuron's parallel compiler says of its work: counted from each pod's log, and judged."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

from playrunner.frozen import mutable
from playrunner.training.kube.runs.follow import RecordingListener

_COUNTER = re.compile(
    r"PARALLEL_COMPILE\W+Total (graphs|successful compilations|failed compilations): (\d+)"
)
_WORDS = {
    "graphs": "graphs",
    "successful compilations": "compiled",
    "failed compilations": "failed",
}


@mutable
class Counts:
    """By pod: graphs, compiled, failed."""

    pods: dict[str, dict[str, int]] = field(default_factory=dict)

    def hear(self, pod: str, text: str) -> None:
        found = _COUNTER.search(text)
        if found:
            self.pods.setdefault(pod, {})[_WORDS[found[1]]] = int(found[2])

    def summed(self) -> dict[str, int]:
        return {
            word: sum(counts.get(word, 0) for counts in self.pods.values())
            for word in _WORDS.values()
        }

    def trouble(self, pods: int) -> str:
        """What is wrong, or nothing: every pod must have told, and every graph must have been
        compiled."""
        silent = pods - sum("graphs" in counts for counts in self.pods.values())
        sums = self.summed()
        if silent > 0:
            return f"{silent} of {pods} pods never told how many graphs they compiled"
        if sums["failed"] or sums["compiled"] < sums["graphs"]:
            return (
                f"{sums['graphs'] - sums['compiled']} of {sums['graphs']} graphs were not compiled"
            )
        return ""  # none at all is fine: the cache had them


class CompileListener(RecordingListener):
    """As every run is heard, with the compiler's counters beside it."""

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self.counts = Counts()

    def line(self, pod: str, text: str) -> None:
        self.counts.hear(pod, text)
        super().line(pod, text)
