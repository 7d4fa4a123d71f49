"""Samples by number, and the order they are seen in.

A source answers three things: how many samples there are, the samples of given numbers as arrays,
and where a sample came from. Which number is seen when follows from (seed, epoch, position) alone,
so a position in the stream means the same batch to any number of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from trainer.config import Data, Train
from trainer.errors import BadInput
from trainer.validate import sequence_length

if TYPE_CHECKING:
    import numpy as np


HELD_BATCHES = 100  # of a stream, where an evaluation is to take all there are


class Samples(Protocol):
    @property
    def equal(self) -> bool:
        """Every sample has as many labels, so a batch's count needs no counting."""

    @property
    def shards(self) -> Sequence[int]:
        """Samples per file, for sources that are read file by file; else one entry."""

    def __len__(self) -> int: ...

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]: ...

    def where(self, number: int) -> str:
        """The shard and offset of a sample, for messages."""


def open_samples(train: Train, output: Path, world_size: int) -> tuple[Samples, Samples | None]:
    """Training and validation samples of the profile's source; the second is None where there are
    none."""
    if train.data.stream:
        stream = _stream(train, output)
        return stream, _beside_stream(stream, train, output)
    samples = _open(train, train.data, output, "train", world_size)
    if train.data.validation_path:
        elsewhere = replace(train.data, path=train.data.validation_path)
        return samples, _open(train, elsewhere, output, "validation", 1)
    own = _own_validation(train, output)
    if own is not None:
        return samples, own
    held_back = (
        int(len(samples) * train.data.validation_fraction) if len(samples.shards) == 1 else 0
    )
    if not held_back:
        return _enough(samples, train), None
    return _enough(Part(samples, 0, len(samples) - held_back), train), Part(
        samples, len(samples) - held_back, held_back
    )


class Part:
    """A run of another source's samples."""

    def __init__(self, whole: Samples, start: int, count: int) -> None:
        self.whole, self.start, self.count = whole, start, count
        self.equal, self.shards = whole.equal, [count]
        if hasattr(whole, "lengths"):
            self.lengths, self.pad = whole.lengths[start : start + count], whole.pad  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return self.count

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        return self.whole.take(numbers + self.start)

    def texts(self, numbers: np.ndarray) -> list[np.ndarray]:
        return self.whole.texts(numbers + self.start)  # type: ignore[attr-defined, no-any-return]

    def where(self, number: int) -> str:
        return self.whole.where(number + self.start)


def _open(train: Train, data: Data, output: Path, split: str, world_size: int) -> Samples:
    if data.source == "synthetic":
        from trainer.data.synthetic import synthetic

        samples: Samples = synthetic(train)
        return samples
    if data.source != "hf" and not data.path:
        raise BadInput(f"data.source {data.source} needs data.path")
    if data.source != "hf" and not Path(data.path).exists():
        raise BadInput(f"data.path {data.path}: no such file or folder")
    if data.source == "mnist":
        from trainer.data.mnist import Mnist

        return Mnist(Path(data.path), split, train.model)
    if data.source == "hdf5":
        from trainer.data.hdf5 import BertShards

        return BertShards(Path(data.path), sequence_length(train), train.model, world_size)
    from trainer.data.prepare import prepared
    from trainer.data.tokens import open_store

    folder = Path(data.path) if data.source == "tokens" else prepared(train, data, output, split)
    stored: Samples = open_store(folder, train, data.layout)
    return stored


def _stream(train: Train, output: Path) -> Any:
    from trainer.data.stream import Stream

    if train.data.source not in ("hf", "folder", "text"):
        raise BadInput(f"data.stream is for sources hf, folder and text, not {train.data.source}")
    return Stream(train, output)


def _beside_stream(stream: Any, train: Train, output: Path) -> Samples | None:
    """Samples elsewhere, or as many of the stream's own as one evaluation takes."""
    if train.data.validation_path:
        elsewhere = replace(train.data, source="folder", path=train.data.validation_path)
        return _open(train, elsewhere, output, "train", 1)
    settings = train.evaluate
    if not settings.every:
        return None
    size = settings.device_batch_size or train.device_batch_size
    held: Samples | None = stream.hold_out((settings.batches or HELD_BATCHES) * size)
    return held


def _own_validation(train: Train, output: Path) -> Samples | None:
    """A source that comes with a validation part: MNIST's test files, a folder with `validation` in
    file names."""
    data = train.data
    if data.source == "mnist":
        return _open(train, data, output, "validation", 1)
    if data.source == "folder":
        from trainer.data.documents import files_of

        return (
            _open(train, data, output, "validation", 1)
            if files_of(Path(data.path), "validation")
            else None
        )
    return None


def _enough(samples: Samples, train: Train) -> Samples:
    if len(samples) < 1:
        raise BadInput(
            f"data.path {train.data.path}: not one sample of {sequence_length(train)} tokens in it"
        )
    return samples
