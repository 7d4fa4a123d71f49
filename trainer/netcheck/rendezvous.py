"""Where the gate's processes find each other: a store inside rank 0, in which it leaves tasks and
the others answers.

The store carries only these words. What is measured goes over connections of its own, so that a
link that fails cannot keep anybody from telling so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from torch.distributed import TCPStore

from trainer.distributed.store import store_at
from trainer.distributed.token import run_token
from trainer.errors import TrainerError
from trainer.netcheck.process_rank import Seat
from trainer.node.seal import mac, same

_MOST_BYTES = 1 << 22  # the places of thousands of nodes
_STRANGE = object()


class Unreachable(TrainerError):
    """The meeting place is not there, or no longer."""

    exit_code = 6


class Meeting:
    def __init__(self, seat: Seat, seconds: float) -> None:
        """Open the place (rank 0) or go there, within so many seconds."""
        self._rank, self._token = seat.rank, run_token()
        self._master = seat.master
        self._address = seat.address
        try:
            self._store = store_at(
                seat.address,
                seat.port,
                seat.size,
                seat.rank == 0,
                timedelta(seconds=seconds),
                wait_for_workers=False,
            )
        except RuntimeError as error:
            if seat.rank == 0:
                raise Unreachable(
                    f"rank 0 on {seat.node} cannot listen at {seat.master}: {_first_line(error)}"
                ) from None
            raise Unreachable(
                f"{seat.node} (rank {seat.rank}) cannot reach the master {seat.node_of(0)} at"
                f" {seat.master} within {seconds:g} s"
            ) from None

    def connect(self, seconds: float) -> TCPStore:
        """A further connection to the place, for whoever may have to wait on it: words must still
        pass on this one."""
        return TCPStore(
            self._address,
            self._store.port,
            is_master=False,
            wait_for_workers=False,
            timeout=timedelta(seconds=seconds),
        )

    def announce(self, step: int, task: Mapping[str, Any]) -> None:
        self._put(f"task/{step}", task)

    def hear(self, step: int, seconds: float) -> dict[str, Any]:
        key = f"task/{step}"
        try:
            self._store.wait([key], timedelta(seconds=seconds))
            task = self._got(key)
        except RuntimeError:
            raise Unreachable(
                f"the master at {self._master} stopped answering during the gate"
            ) from None
        if not isinstance(task, dict):
            raise Unreachable(
                f"what came from the master at {self._master} is no task of this gate"
            )
        return task

    def answer(self, step: int | str, value: Any) -> None:
        try:
            self._put(f"answer/{step}/{self._rank}", value)
        except RuntimeError:
            raise Unreachable(
                f"the master at {self._master} stopped answering during the gate"
            ) from None

    def answers(self, step: int | str, ranks: Iterable[int], seconds: float) -> dict[int, Any]:
        """What those ranks answered by then; who is not in it did not."""
        keys = {rank: f"answer/{step}/{rank}" for rank in ranks}
        if not keys:
            return {}
        try:
            self._store.wait(list(keys.values()), timedelta(seconds=max(seconds, 0.01)))
        except RuntimeError:
            pass  # the time is over; those who came are found one by one
        came = {rank: self._got(key) for rank, key in keys.items() if self._store.check([key])}
        return {rank: value for rank, value in came.items() if value is not _STRANGE}

    def _put(self, key: str, value: Any) -> None:
        text = json.dumps(value).encode()
        self._store.set(key, b"%b %b" % (mac(self._token, key.encode(), text), text))

    def _got(self, key: str) -> Any:
        """What was put there by a rank of this run; everything else is strange."""
        given, _, text = self._store.get(key).partition(b" ")
        if len(text) > _MOST_BYTES or not same(given, mac(self._token, key.encode(), text)):
            return _STRANGE
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return _STRANGE


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
