"""The gate's measuring: all-reduces over every rank, and ping-pong between two, on gloo or NCCL.

Every pair gets a process group of its own, so that a peer that does not answer spoils one pair's
group and no other: gloo closes all connections of a group in which one operation timed out, and
NCCL waits without end for a peer that is gone before the first one.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from trainer.netcheck.check_values import own_values, right_sum

_SMALL, _MIDDLE, _LARGE = 4096, 65536, 1048576
_PINGS, _LOADS = 20, 3
_REPEATS = 10  # all-reduces of one size; few, since eight processes may share two cores


class Traffic:
    """What this rank sends and receives; each operation fails after `patience` seconds."""

    def __init__(
        self,
        connect: Callable[[float], Any],
        rank: int,
        size: int,
        backend: str,
        local_rank: int,
        patience: float,
    ) -> None:
        """`connect` gives a new connection to where the ranks meet, which waits for an answer as
        long as it is told."""
        self._connect, self._rank, self._size, self._backend, self._patience = (
            connect,
            rank,
            size,
            backend,
            patience,
        )
        self._device = (
            torch.device("cuda", local_rank) if backend == "nccl" else torch.device("cpu")
        )
        self._store: Any = None

    def all_reduce(self, label: str, sizes: Sequence[int], seconds: float) -> list[dict[str, Any]]:
        """One line per size; the first that fails is the last."""
        lines: list[dict[str, Any]] = []

        def work() -> None:
            group = self._group(label, self._rank, self._size)
            for size in sizes:
                lines.append(self._sum(group, size, seconds / len(sizes)))

        error = self._failure(work, seconds)
        done = lines[:]  # what an abandoned thread may add later comes too late
        return [*done, {"bytes": sizes[len(done)], "error": error}] if error else done

    def pair(self, label: str, other: int, seconds: float) -> dict[str, Any]:
        """Latency and bandwidth to another rank; the lower rank measures, the higher echoes."""
        calling = self._rank < other
        found: dict[str, Any] = {}

        def work() -> None:
            link = _Link(
                self._group(label, 0 if calling else 1, 2),
                1 if calling else 0,
                self._device,
                self._settle,
            )
            if calling:
                found.update(link.measure(seconds))
            else:
                link.echo()

        error = self._failure(work, seconds)
        return {"error": error} if error else found

    def _failure(self, work: Callable[[], None], seconds: float) -> str | None:
        """Do it in a thread, since a library call may never return; what went wrong, or None."""
        told: list[str] = []

        def guarded() -> None:
            try:
                if self._backend == "nccl":
                    torch.cuda.set_device(self._device)  # each thread has its own
                work()
            except RuntimeError as error:
                told.append(self._told(error))

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        thread.join(
            2 * self._patience + seconds
        )  # one wait to connect, one for a message, and the work
        if thread.is_alive():
            # It may be waiting there, and nobody else can use a connection meanwhile
            self._store = None
            return self._silence()
        return told[0] if told else None

    def _sum(self, group: Any, size: int, seconds: float) -> dict[str, Any]:
        mine = own_values(size // 4, self._rank, self._device)
        expected = right_sum(size // 4, self._size, self._device)
        buffer = mine.clone()

        def once() -> float:
            buffer.copy_(mine)
            self._settle()
            began = time.perf_counter()
            group.allreduce([buffer]).wait()
            self._settle()
            return time.perf_counter() - began

        once()  # connections and buffers are made on first use
        wrong = int((buffer != expected).sum())
        count = torch.tensor(
            [max(1, min(_REPEATS, int(seconds / max(once(), 1e-6))))], device=self._device
        )
        group.broadcast(count, 0).wait()  # all must repeat as often as rank 0 finds right
        taken = [once() for _ in range(int(count))]
        wrong = max(wrong, int((buffer != expected).sum()))
        return {"bytes": size, "seconds": median(taken), "wrong": wrong}

    def _group(self, label: str, rank: int, size: int) -> Any:
        self._store = self._store or self._connect(self._patience)
        store, patience = dist.PrefixStore(label, self._store), timedelta(seconds=self._patience)
        if self._backend == "nccl":
            options = dist.ProcessGroupNCCL.Options()
            options._timeout = patience
            return dist.ProcessGroupNCCL(store, rank, size, options)
        return dist.ProcessGroupGloo(store, rank, size, patience)

    def _settle(self) -> None:
        if self._backend == "nccl":
            # Not the device: another group may be stuck on it
            torch.cuda.current_stream().synchronize()

    def _told(self, error: RuntimeError) -> str:
        """The library's message without its source paths."""
        text = re.sub(
            r"\[[^\]\s]*\.(cc|cpp|h|hpp):\d+\]\s*", "", (str(error).splitlines() or [""])[0]
        ).strip()
        if re.search(r"time(d)? ?out", text, re.IGNORECASE):
            return self._silence()
        if re.search(r"closed by peer|reset by peer|pair closure|broken pipe", text, re.IGNORECASE):
            return "the connection was closed"
        return text or type(error).__name__

    def _silence(self) -> str:
        return f"no answer within {self._patience:g} s"


class _Link:
    """Two ranks' ping-pong. The caller says what comes next, so that it alone decides when time is
    over."""

    def __init__(
        self, group: Any, other: int, device: torch.device, settle: Callable[[], None]
    ) -> None:
        self._group, self._other, self._device, self._settle = group, other, device, settle

    def measure(self, seconds: float) -> dict[str, Any]:
        ends = time.perf_counter() + seconds
        first = self._ping(2, _SMALL)  # the first sends are slow: connections, buffers
        pings = self._ping(_fitting(seconds / 3, first[-1], _PINGS), _SMALL)
        size, loads = _MIDDLE, self._ping(1, _MIDDLE)
        if loads[0] * (_LARGE / _MIDDLE) < seconds:
            size, loads = _LARGE, self._ping(1, _LARGE)
            loads += self._ping(_fitting(ends - time.perf_counter(), loads[0], _LOADS - 1), _LARGE)
        self._tell(0, 0)
        return {
            "latency_us": median(pings) / 2 * 1e6,
            "gbps": size * 8 / (min(loads) / 2) / 1e9,
            "bytes": size,
        }

    def echo(self) -> None:
        while True:
            words = torch.zeros(2, dtype=torch.int64, device=self._device)
            self._receive(words)
            count, size = words.tolist()
            if not count:
                return
            buffer = torch.empty(size, dtype=torch.uint8, device=self._device)
            for _ in range(count):
                self._receive(buffer)
                self._send(buffer)

    def _ping(self, count: int, size: int) -> list[float]:
        self._tell(count, size)
        buffer = torch.zeros(size, dtype=torch.uint8, device=self._device)
        taken = []
        for _ in range(count):
            began = time.perf_counter()
            self._send(buffer)
            self._receive(buffer)
            taken.append(time.perf_counter() - began)
        return taken

    def _tell(self, count: int, size: int) -> None:
        self._send(torch.tensor([count, size], dtype=torch.int64, device=self._device))

    def _send(self, tensor: Any) -> None:
        self._group.send([tensor], self._other, 0).wait()
        self._settle()

    def _receive(self, tensor: Any) -> None:
        self._group.recv([tensor], self._other, 0).wait()
        self._settle()


def _fitting(seconds: float, each: float, most: int) -> int:
    """How many fit into the time: at least one, even when it is over."""
    return max(1, min(most, int(seconds / max(each, 1e-6))))
