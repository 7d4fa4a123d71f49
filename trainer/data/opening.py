"""Opening a loader: by number where samples have numbers, as a stream where they only come one
after another."""

from __future__ import annotations

from typing import Any

from trainer.config import Train
from trainer.data.loader import Loader
from trainer.distributed.process_group import ProcessGroup
from trainer.validate import packs


def open_loader(
    samples: Any,
    train: Train,
    processes: ProcessGroup,
    position: int,
    resume: dict[str, Any] | None,
) -> Loader:
    if train.data.stream:
        from trainer.data.stream import StreamLoader

        return StreamLoader(samples, train, processes, position, resume)
    if packs(train):
        from trainer.data.packing import PackedLoader

        return PackedLoader(samples, train, processes, position)
    return Loader(samples, train, processes, position)
