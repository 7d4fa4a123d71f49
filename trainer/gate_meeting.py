"""Where the gate's processes find each other: a store inside rank 0, in which it leaves tasks and the others answers.

The store carries only these words. What is measured goes over connections of its own, so that a link that fails
cannot keep anybody from telling so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from torch.distributed import TCPStore

from trainer.errors import TrainerError
from trainer.gate_seat import Seat


class Unreachable(TrainerError):
    """The meeting place is not there, or no longer."""

    exit_code = 6


class Meeting:
    def __init__(self, seat: Seat, seconds: float) -> None:
        """Open the place (rank 0) or go there, within so many seconds."""
        self._rank = seat.rank
        self._master = seat.master
        self._address = seat.address
        try:
            self._store = TCPStore(seat.address, seat.port, seat.size, is_master=seat.rank == 0, wait_for_workers=False,
                                  timeout=timedelta(seconds=seconds))
        except RuntimeError as error:
            if seat.rank == 0:
                raise Unreachable(f"rank 0 on {seat.node} cannot listen at {seat.master}: {_first_line(error)}") from None
            raise Unreachable(f"{seat.node} (rank {seat.rank}) cannot reach the master {seat.node_of(0)} at {seat.master} "
                              f"within {seconds:g} s") from None

    def connect(self, seconds: float) -> TCPStore:
        """A further connection to the place, for whoever may have to wait on it: words must still pass on this one."""
        return TCPStore(self._address, self._store.port, is_master=False, wait_for_workers=False,
                        timeout=timedelta(seconds=seconds))

    def announce(self, step: int, task: Mapping[str, Any]) -> None:
        self._store.set(f"task/{step}", json.dumps(task))

    def hear(self, step: int, seconds: float) -> dict[str, Any]:
        key = f"task/{step}"
        try:
            self._store.wait([key], timedelta(seconds=seconds))
            return json.loads(self._store.get(key))  # type: ignore[no-any-return]
        except RuntimeError:
            raise Unreachable(f"the master at {self._master} stopped answering during the gate") from None

    def answer(self, step: int | str, value: Any) -> None:
        try:
            self._store.set(f"answer/{step}/{self._rank}", json.dumps(value))
        except RuntimeError:
            raise Unreachable(f"the master at {self._master} stopped answering during the gate") from None

    def answers(self, step: int | str, ranks: Iterable[int], seconds: float) -> dict[int, Any]:
        """What those ranks answered by then; who is not in it did not."""
        keys = {rank: f"answer/{step}/{rank}" for rank in ranks}
        if not keys:
            return {}
        try:
            self._store.wait(list(keys.values()), timedelta(seconds=max(seconds, 0.01)))
        except RuntimeError:
            pass  # the time is over; those who came are found one by one
        return {rank: json.loads(self._store.get(key)) for rank, key in keys.items() if self._store.check([key])}


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
