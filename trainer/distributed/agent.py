"""torchrun's agent of one node, which starts the ranks again as often as the launch allows: torch's
own counts for itself, and begins anew with each pod."""

from __future__ import annotations

import sys
import time
from typing import Any

from torch.distributed.elastic.agent.server.api import RunResult, WorkerGroup, WorkerState
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from trainer.errors import NotRestarted
from trainer.node.failure import ending
from trainer.node.restart import LASTING_CODES
from trainer.node.starts import Starts

_NUMBER = "playrunner.start"  # in the store of each rendezvous: the number of the start
_REFUSED = 0


class RestartingAgent(LocalElasticAgent):
    """Records each start and its end; what the record allows decides, not torch's max_restarts."""

    def __init__(self, starts: Starts, **options: Any) -> None:
        super().__init__(**options)
        self._starts = starts
        self._refusal: NotRestarted | None = None

    def run(self, *args: Any, **options: Any) -> RunResult:
        self._starts.check()  # before it waits for nodes that do not come any more
        result: RunResult = super().run(*args, **options)
        if self._refusal and result.is_failed():
            print(ChildFailedError("the ranks", result.failures), file=sys.stderr, flush=True)
            raise self._refusal
        return result

    def _invoke_run(self, *args: Any, **options: Any) -> RunResult:
        try:
            return super()._invoke_run(*args, **options)
        except SignalException:  # before the ranks end: the other nodes see theirs fail
            if self._starts.number:
                self._starts.left("a node was asked to end")
            raise

    def _rendezvous(self, worker_group: WorkerGroup) -> None:
        super()._rendezvous(worker_group)
        self._starts.join(self._number(worker_group))

    def _number(self, group: Any) -> int:
        """Of this start: the first node finds it and tells the others."""
        if group.group_rank:
            number = int(group.store.get(_NUMBER))
            if number == _REFUSED:
                self._starts.check()
                raise NotRestarted("the first node has found so")
            return number
        try:
            number = self._starts.begin(group.group_world_size)
        except NotRestarted:
            group.store.set(_NUMBER, str(_REFUSED))
            raise
        group.store.set(_NUMBER, str(number))
        return number

    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        result: RunResult = super()._monitor_workers(worker_group)
        if result.state in (WorkerState.FAILED, WorkerState.UNHEALTHY):
            try:
                self._wait_after(*_described(result))
            except NotRestarted as refusal:
                self._refusal, self._remaining_restarts = refusal, 0
        return result

    def _wait_after(self, reason: str, lasting: bool) -> None:
        restart = self._starts.failed(reason, lasting)
        most = self._starts.limits.most
        print(restart.line(most), flush=True)
        self._remaining_restarts = most - restart.number + 1  # torch takes one from it
        time.sleep(restart.seconds)

    def _restart_workers(self, worker_group: WorkerGroup) -> None:
        if worker_group.state == WorkerState.HEALTHY:  # another node waits to take part
            if self._starts.elastic:
                self._starts.left("its nodes change")
            else:
                self._starts.failed("a node or pod was lost")
        super()._restart_workers(worker_group)


def _described(result: RunResult) -> tuple[str, bool]:
    """How its first rank failed, and whether it would again."""
    failures = sorted(result.failures.items(), key=lambda each: each[1].timestamp)
    lasting = any(failure.exitcode in LASTING_CODES for _, failure in failures)
    if not failures:
        return "a failure", False
    rank, first = failures[0]
    return ending(str(rank), first.exitcode), lasting
