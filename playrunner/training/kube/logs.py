"""train.logs for clusters: rank 0's lines, whichever pod it is, found again after every meeting of
the pods."""

from __future__ import annotations

import collections
import json
import sys
from typing import Any

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.text.streams import stop_unless_read
from playrunner.training.kube.network.gate_result import GATE
from playrunner.training.kube.runs.follow import METRICS, Follower
from playrunner.training.kube.runs.pod_output import logs_of
from playrunner.training.kube.runs.rank0 import rank_of
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.runs.selection import GOING_ON, the_run
from playrunner.training.kube.session import open_session
from playrunner.training.kube.status import names

MOST_LINES = 20000


def show_logs(
    options: Options, name: str, rank: int, pod: str, *, everything: bool, follow: bool, tail: int
) -> int:
    session = open_session(options)
    run = the_run(session, name)
    if pod and pod not in (known := list(logs_of(session.kube, run, 1))):
        raise BadInput(f"{run.name} has no pod {pod}; it has {', '.join(known) or 'none'}")
    printer = PodLog(None if everything or pod else rank, pod, everything, options.json)
    if follow and run.state in GOING_ON:
        printer.hold(tail)  # what was said before we came comes in one piece: only its end is shown
        Follower(session.kube, run, printer).follow()
        return 0
    lines = [
        (who, line)
        for who, said in logs_of(session.kube, run, MOST_LINES).items()
        for line in said
        if printer.wants(who, line)
    ]
    for who, line in lines[-tail:] if tail else []:
        printer.show(who, line)
    if not lines:
        sys.stderr.write(_nothing(run, rank, everything or bool(pod)))
    return 0


class PodLog:
    """Lines go to standard output as they come; those of one rank are known by their prefix,
    whichever pod writes them."""

    def __init__(self, rank: int | None, pod: str, named: bool, as_json: bool) -> None:
        self.rank, self.pod, self.named, self.as_json = rank, pod, named, as_json
        self._held: collections.deque[tuple[str, str]] | None = None
        self._speaker = ""

    def hold(self, count: int) -> None:
        self._held = collections.deque(maxlen=max(0, count))

    def begins(self, pod: str, first: bool) -> None:
        pass

    def line(self, pod: str, text: str) -> None:
        if not self.wants(pod, text):
            return
        if self.rank is not None and self._speaker and pod != self._speaker:
            self.say(f"rank {self.rank} is on {pod} now")
        self._speaker = pod
        if self._held is not None:
            self._held.append((pod, text))
        else:
            self.show(pod, text)

    def idle(self, pods: list[dict[str, Any]]) -> None:
        held, self._held = self._held, None
        for pod, text in held or ():
            self.show(pod, text)
        if held is not None and not held:
            phases = sorted(
                {str((pod.get("status") or {}).get("phase") or "Pending") for pod in pods}
            ) or ["no pods yet"]
            self.say(f"nothing yet ({', '.join(phases)}): waiting for the first line")

    def say(self, text: str) -> None:
        sys.stderr.write(text + "\n")

    def wants(self, pod: str, text: str) -> bool:
        if self.pod and pod != self.pod:
            return False
        if self.rank is None:
            return True
        return rank_of(text) == self.rank and not text.partition("] ")[2].startswith(
            (METRICS, GATE)
        )

    def show(self, pod: str, text: str) -> None:
        if self.as_json:
            who = rank_of(text)
            plain = text.partition("] ")[2] if who is not None else text
            sys.stdout.write(
                json.dumps(
                    {"pod": pod, "from": "agent" if who is None else str(who), "text": plain}
                )
                + "\n"
            )
        else:
            plain = text.partition("] ")[2] if self.rank is not None else text
            sys.stdout.write((f"{pod} " if self.named else "") + plain + "\n")
        sys.stdout.flush()
        stop_unless_read()


def _nothing(run: ClusterRun, rank: int, whole: bool) -> str:
    what = "its pods have" if whole else f"rank {rank} has"
    pods = ", ".join(names(run)) or "no pods"
    return (
        f"{run.name} is {run.state}: {what} written nothing yet ({pods}); --follow waits for it\n"
    )
