"""BERT's pre-training shards in HDF5: masked sentence pairs, read a file at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trainer.config import Model
from trainer.errors import BadInput

_FIELDS = (
    "input_ids",
    "input_mask",
    "segment_ids",
    "masked_lm_positions",
    "masked_lm_ids",
    "next_sentence_labels",
)
_KEPT = 2  # files in memory: a batch may straddle the end of one


class BertShards:
    equal = False

    def __init__(self, folder: Path, length: int, model: Model, world_size: int) -> None:
        import h5py

        self.files = sorted(folder.glob("*_training_*.hdf5")) or sorted(folder.glob("*.hdf5"))
        if not self.files:
            raise BadInput(f"{folder}: no *_training_*.hdf5 files")
        if len(self.files) < world_size:
            raise BadInput(
                f"{folder}: {len(self.files)} shards are too few for {world_size} processes; split"
                " them further"
            )
        self.shards: list[int] = []
        self._loaded: dict[int, dict[str, np.ndarray]] = {}
        for file in self.files:
            try:
                with h5py.File(file) as opened:
                    missing = [name for name in _FIELDS if name not in opened]
                    if missing:
                        raise BadInput(f"{file}: has no {', '.join(missing)}")
                    rows, width = opened["input_ids"].shape
            except OSError as error:
                raise BadInput(f"{file}: not readable as HDF5: {error}") from None
            if width != length:
                raise BadInput(f"{file}: sequences of {width}, data.sequence says {length}")
            self.shards.append(rows)
        self.ends = np.cumsum(self.shards)
        self.vocab_size = model.vocab_size

    def __len__(self) -> int:
        return int(self.ends[-1])

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        shards = np.searchsorted(self.ends, numbers, side="right")
        parts = []
        for number, shard in zip(numbers, shards, strict=True):
            inside = int(number) - (int(self.ends[shard - 1]) if shard else 0)
            parts.append({name: values[inside] for name, values in self._shard(int(shard)).items()})
        rows = {name: np.stack([part[name] for part in parts]).astype(np.int64) for name in _FIELDS}
        return {
            "input": rows["input_ids"],
            "mask": rows["input_mask"],
            "segment": rows["segment_ids"],
            "label": _labels(rows),
            "next": rows["next_sentence_labels"].reshape(-1),
        }

    def where(self, number: int) -> str:
        shard = int(np.searchsorted(self.ends, number, side="right"))
        return (
            f"{self.files[shard].name} row {number - (int(self.ends[shard - 1]) if shard else 0)}"
        )

    def _shard(self, shard: int) -> dict[str, np.ndarray]:
        if shard not in self._loaded:
            import h5py

            with h5py.File(self.files[shard]) as opened:
                values = {name: opened[name][:] for name in _FIELDS}
            if values["input_ids"].max(initial=0) >= self.vocab_size:
                raise BadInput(
                    f"{self.files[shard]}: token {values['input_ids'].max()} is outside"
                    f" model.vocab_size {self.vocab_size}"
                )
            while len(self._loaded) >= _KEPT:
                self._loaded.pop(next(iter(self._loaded)))
            self._loaded[shard] = values
        return self._loaded[shard]


def _labels(rows: dict[str, np.ndarray]) -> np.ndarray:
    """-100 everywhere but at the masked positions; the list of positions ends at its first 0."""
    labels = np.full(rows["input_ids"].shape, -100, dtype=np.int64)
    positions = rows["masked_lm_positions"]
    given = np.cumprod(positions != 0, axis=1).astype(bool)
    row, column = np.nonzero(given)
    labels[row, positions[row, column]] = rows["masked_lm_ids"][row, column]
    return labels
