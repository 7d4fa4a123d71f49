"""Batches for one rank, made ready ahead of the model by a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainer.config import Train
from trainer.data.order import Order
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import Unhealthy

_LOOK_SECONDS = 2.0  # how often a wait for a batch looks at the thread that makes it
Batch = dict[str, Tensor]
Ready = tuple[
    list[Batch], tuple[float, float]
]  # a step's micro-batches, and the labels and samples in them


class Loader:
    """The micro-batches of each optimizer step, from a position in the stream of samples onwards.

    Micro-batch k of a step holds the same samples whatever the number of ranks; rank r of w takes k
    = r, r + w, ...
    """

    def __init__(
        self,
        samples: Any,
        train: Train,
        processes: ProcessGroup,
        position: int,
        resume: dict[str, Any] | None = None,
    ) -> None:
        self.samples, self.train, self.device = samples, train, processes.device
        self.rank, self.world_size, self.position = processes.rank, processes.world_size, position
        self.begin(resume)
        self._ready: queue.Queue[Ready | BaseException] = queue.Queue(
            maxsize=max(1, train.data.prefetch)
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="loader", daemon=True)
        self._thread.start()

    def begin(self, resume: dict[str, Any] | None) -> None:
        """Samples that have numbers need nothing but the position."""
        group = self.train.device_batch_size if self.train.data.group_by_size else 0
        self.order = Order(self.samples, self.train.seed, self.train.data.shuffle, group)

    def state(self, position: int) -> dict[str, Any] | None:
        """What a checkpoint must hold besides the position."""
        return None

    def __iter__(self) -> Iterator[Ready]:
        while True:
            ready = self._take()
            if isinstance(ready, BaseException):
                raise ready
            batches, totals = ready
            yield [self._moved(batch) for batch in batches], totals

    @property
    def is_alive(self) -> bool:
        """Whether batches still come, or are there."""
        return self._thread.is_alive() or not self._ready.empty()

    def _take(self) -> Ready | BaseException:
        while True:
            try:
                return self._ready.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                if not self.is_alive:
                    return Unhealthy("the thread that makes batches has ended without an error")

    def close(self) -> None:
        self._stopping.set()
        while not self._ready.empty():
            self._ready.get_nowait()
        self._thread.join(timeout=5)

    def numbers(self, position: int, micro_batch: int) -> np.ndarray:
        size = self.train.device_batch_size
        return self.order.numbers(position + micro_batch * size + np.arange(size))

    def where(self, position: int, micro_batch: int) -> str:
        return self.samples.where(int(self.numbers(position, micro_batch)[0]))  # type: ignore[no-any-return]

    def _fill(self) -> None:
        position = self.position
        try:
            if self.device.type == "cuda":
                torch.cuda.set_device(self.device)  # a thread begins with the first one
            while not self._stopping.is_set():
                batches = [self._pinned(batch) for batch in self._step(position)]
                # Counted here, on the host: on a GPU the loop would have to wait for the answer.
                self._put((batches, counts(batches, self.samples.equal)))
                position += self.train.batch_size
        # handed to the thread that waits for batches, which raises it
        except BaseException as error:
            self._put(error)

    def _put(self, ready: Ready | BaseException) -> None:
        while not self._stopping.is_set():
            try:
                return self._ready.put(ready, timeout=0.2)
            except queue.Full:
                continue

    def _step(self, position: int) -> list[Batch]:
        micro_batches = self.train.batch_size // self.train.device_batch_size
        return [
            self._batch(self.numbers(position, each))
            for each in range(self.rank, micro_batches, self.world_size)
        ]

    def _batch(self, numbers: np.ndarray) -> Batch:
        return {
            name: torch.from_numpy(np.ascontiguousarray(values))
            for name, values in self.samples.take(numbers).items()
        }

    def _pinned(self, batch: Batch) -> Batch:
        """In memory that a GPU reads by itself, where there is one."""
        if self.device.type != "cuda":
            return batch
        return {name: tensor.pin_memory() for name, tensor in batch.items()}

    def _moved(self, batch: Batch) -> Batch:
        """On its way to the device, while the device still works on the batch before."""
        if self.device.type != "cuda":
            return batch
        return {name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.items()}


def counts(batches: list[Batch], equal: bool) -> tuple[float, float]:
    """Labels that carry loss, and samples, in these batches."""
    samples = sum(batch["label"].shape[0] for batch in batches)
    if equal:
        return float(sum(batch["label"].numel() for batch in batches)), float(samples)
    return float(sum(int((batch["label"] != -100).sum()) for batch in batches)), float(samples)
