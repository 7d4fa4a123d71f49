"""The network check's measurements: all-reduces over every rank, and ping-pong between two, on gloo
or NCCL.

Every pair gets a process group of its own, so that a peer that does not answer breaks one pair's
group only: gloo closes all connections of a group in which one operation timed out, and NCCL waits
forever for a peer that is gone before the first operation.
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

from trainer.frozen import frozen
from trainer.netcheck.check_values import expected_sum, rank_values

_SMALL, _MIDDLE, _LARGE = 4096, 65536, 1048576
_PINGS, _LOADS = 20, 3
_REPEATS = 5  # all-reduces of one size; few, since eight processes may share two cores


@frozen
class _Failure:
    text: str
    timed_out: bool = False


class Traffic:
    """This rank's sends and receives; each operation fails after `patience` seconds."""

    def __init__(
        self,
        connect: Callable[[float], Any],
        rank: int,
        size: int,
        backend: str,
        local_rank: int,
        patience: float,
    ) -> None:
        """`connect` makes a new connection to the rendezvous store, with a timeout in seconds."""
        self._connect, self._rank, self._size = connect, rank, size
        self._backend, self._patience = backend, patience
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

        failure = self._attempt(work, seconds)
        done = lines[:]  # a copy: an abandoned thread may still append
        if failure:
            last = {"error": failure.text, "timed_out": failure.timed_out}
            return [*done, {"bytes": sizes[len(done)], **last}]
        return done

    def pair(self, label: str, other: int, seconds: float) -> dict[str, Any]:
        """Latency and bandwidth to another rank; the lower rank measures, the higher echoes."""
        calling = self._rank < other
        figures: dict[str, Any] = {}

        def work() -> None:
            link = _Link(
                self._group(label, 0 if calling else 1, 2),
                1 if calling else 0,
                self._device,
                self._synchronize,
            )
            if calling:
                figures.update(link.measure(seconds))
            else:
                link.echo()

        failure = self._attempt(work, seconds)
        return {"error": failure.text} if failure else figures

    def _attempt(self, work: Callable[[], None], seconds: float) -> _Failure | None:
        """Work in a thread, since a library call may never return; what failed, or None."""
        failures: list[_Failure] = []

        def guarded() -> None:
            try:
                if self._backend == "nccl":
                    torch.cuda.set_device(self._device)  # each thread has its own
                work()
            except RuntimeError as error:
                failures.append(self._failure(error))

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        # One wait to connect, one for a message, and the work
        thread.join(2 * self._patience + seconds)
        if thread.is_alive():
            self._store = None  # the thread may block on that connection
            return self._timeout()
        return failures[0] if failures else None

    def _sum(self, group: Any, size: int, seconds: float) -> dict[str, Any]:
        mine = rank_values(size // 4, self._rank, self._device)
        expected = expected_sum(size // 4, self._size, self._device)
        buffer = mine.clone()

        def once() -> float:
            buffer.copy_(mine)
            self._synchronize()
            began = time.perf_counter()
            group.allreduce([buffer]).wait()
            self._synchronize()
            return time.perf_counter() - began

        once()  # the first one also makes connections and buffers
        wrong = int((buffer != expected).sum())
        count = torch.tensor(
            [max(1, min(_REPEATS, int(seconds / max(once(), 1e-6))))], device=self._device
        )
        group.broadcast(count, 0).wait()  # all repeat as often as rank 0 decides
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

    def _synchronize(self) -> None:
        if self._backend == "nccl":
            # Not the whole device: another group may be stuck on it
            torch.cuda.current_stream().synchronize()

    def _failure(self, error: RuntimeError) -> _Failure:
        """torch's message without its source paths. It has no other way to tell a timeout."""
        text = re.sub(
            r"\[[^\]\s]*\.(cc|cpp|h|hpp):\d+\]\s*", "", (str(error).splitlines() or [""])[0]
        ).strip()
        if re.search(r"time(d)? ?out", text, re.IGNORECASE):
            return self._timeout()
        if re.search(r"closed by peer|reset by peer|pair closure|broken pipe", text, re.IGNORECASE):
            return _Failure("the connection was closed")
        return _Failure(text or type(error).__name__)

    def _timeout(self) -> _Failure:
        return _Failure(f"no answer within {self._patience:g} s", timed_out=True)


class _Link:
    """Two ranks' ping-pong. The caller announces what comes next, and alone keeps the time."""

    def __init__(
        self, group: Any, other: int, device: torch.device, synchronize: Callable[[], None]
    ) -> None:
        self._group, self._other, self._device, self._synchronize = (
            group,
            other,
            device,
            synchronize,
        )

    def measure(self, seconds: float) -> dict[str, Any]:
        ends = time.perf_counter() + seconds
        first = self._ping(2, _SMALL)  # the first sends are slow: connections, buffers
        pings = self._ping(_fitting(seconds / 3, first[-1], _PINGS), _SMALL)
        size, loads = _MIDDLE, self._ping(1, _MIDDLE)
        if loads[0] * (_LARGE / _MIDDLE) < seconds:
            size, loads = _LARGE, self._ping(1, _LARGE)
            loads += self._ping(_fitting(ends - time.perf_counter(), loads[0], _LOADS - 1), _LARGE)
        self._announce(0, 0)
        return {
            "latency_us": median(pings) / 2 * 1e6,
            "gbps": size * 8 / (min(loads) / 2) / 1e9,
            "bytes": size,
        }

    def echo(self) -> None:
        while True:
            header = torch.zeros(2, dtype=torch.int64, device=self._device)
            self._receive(header)
            count, size = header.tolist()
            if not count:
                return
            buffer = torch.empty(size, dtype=torch.uint8, device=self._device)
            for _ in range(count):
                self._receive(buffer)
                self._send(buffer)

    def _ping(self, count: int, size: int) -> list[float]:
        self._announce(count, size)
        buffer = torch.zeros(size, dtype=torch.uint8, device=self._device)
        taken = []
        for _ in range(count):
            began = time.perf_counter()
            self._send(buffer)
            self._receive(buffer)
            taken.append(time.perf_counter() - began)
        return taken

    def _announce(self, count: int, size: int) -> None:
        self._send(torch.tensor([count, size], dtype=torch.int64, device=self._device))

    def _send(self, tensor: Any) -> None:
        self._group.send([tensor], self._other, 0).wait()
        self._synchronize()

    def _receive(self, tensor: Any) -> None:
        self._group.recv([tensor], self._other, 0).wait()
        self._synchronize()


def _fitting(seconds: float, one_takes: float, most: int) -> int:
    """How many fit into the time: at least one."""
    return max(1, min(most, int(seconds / max(one_takes, 1e-6))))
