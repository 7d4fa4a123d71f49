"""The rendezvous of the network check's processes: a store in rank 0, where it puts tasks and the
others put answers.

The store carries only these. Measurements use connections of their own, so that a failing link does
not keep a rank from reporting it. Keys begin with a name made from the run's token: a rank of
another run that was given the same port finds no other rank here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from torch.distributed import PrefixStore, Store, TCPStore

from trainer.distributed.store import store_at
from trainer.distributed.token import run_token
from trainer.errors import TrainerError
from trainer.netcheck.process_rank import ProcessRank
from trainer.node.seal import mac, same

_MAX_BYTES = 1 << 22  # the addresses of thousands of nodes
_INVALID = object()


class Unreachable(TrainerError):
    """Rank 0's store cannot be reached, or no longer."""

    exit_code = 6


class Rendezvous:
    def __init__(self, process: ProcessRank, seconds: float) -> None:
        """Open the store (rank 0) or connect to it, within so many seconds."""
        self._rank, self._token = process.rank, run_token()
        self._master = process.master
        self._address = process.address
        try:
            store = store_at(
                process.address,
                process.port,
                process.size,
                process.rank == 0,
                timedelta(seconds=seconds),
                wait_for_workers=False,
            )
        except RuntimeError as error:
            if process.rank == 0:
                raise Unreachable(
                    f"rank 0 on {process.node} cannot listen at {process.master}:"
                    f" {_first_line(error)}"
                ) from None
            raise Unreachable(
                f"{process.node} (rank {process.rank}) cannot reach the master {process.node_of(0)}"
                f" at {process.master} within {seconds:g} s"
            ) from None

        self._port = store.port
        self._store = of_run(self._token, store)

    def connect(self, seconds: float) -> Store:
        """A second connection to the store, for calls that may block: this one stays usable."""
        return of_run(
            self._token,
            TCPStore(
                self._address,
                self._port,
                is_master=False,
                wait_for_workers=False,
                timeout=timedelta(seconds=seconds),
            ),
        )

    def announce(self, step: int, task: Mapping[str, Any]) -> None:
        self._put(f"task/{step}", task)

    def next_task(self, step: int, seconds: float) -> dict[str, Any]:
        key = f"task/{step}"
        try:
            self._store.wait([key], timedelta(seconds=seconds))
            task = self._get(key)
        except RuntimeError:
            raise Unreachable(
                f"the master at {self._master} stopped answering during the network check"
            ) from None
        if not isinstance(task, dict):
            raise Unreachable(
                f"the master at {self._master} sent an invalid task for the network check"
            )
        return task

    def answer(self, step: int | str, value: Any) -> None:
        try:
            self._put(f"answer/{step}/{self._rank}", value)
        except RuntimeError:
            raise Unreachable(
                f"the master at {self._master} stopped answering during the network check"
            ) from None

    def answers(self, step: int | str, ranks: Iterable[int], seconds: float) -> dict[int, Any]:
        """The answers of those ranks that came in time."""
        keys = {rank: f"answer/{step}/{rank}" for rank in ranks}
        if not keys:
            return {}
        try:
            self._store.wait(list(keys.values()), timedelta(seconds=max(seconds, 0.01)))
        except RuntimeError:
            pass  # timeout: the answers that came are collected below
        answers = {rank: self._get(key) for rank, key in keys.items() if self._store.check([key])}
        return {rank: value for rank, value in answers.items() if value is not _INVALID}

    def _put(self, key: str, value: Any) -> None:
        text = json.dumps(value)
        proof = mac(self._token, key.encode(), text.encode()).decode()
        self._store.set(key, f"{proof} {text}")

    def _get(self, key: str) -> Any:
        """A value put there by a rank of this run; _INVALID for anything else."""
        proof, _, text = self._store.get(key).partition(b" ")
        if len(text) > _MAX_BYTES or not same(proof, mac(self._token, key.encode(), text)):
            return _INVALID
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return _INVALID


def of_run(token: str, store: TCPStore) -> Store:
    """The keys of one run in a store that others may reach as well."""
    return PrefixStore(mac(token, b"rendezvous").decode(), store)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
