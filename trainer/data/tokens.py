"""Token shards on disk, memory-mapped: rows of a packed stream, or whole documents."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from trainer.config import Train
from trainer.data.prepare import LEDGER
from trainer.errors import BadInput
from trainer.validate import sequence_length


def open_store(folder: Path, train: Train, layout: str) -> Any:
    """The samples of a folder of token shards, which must be complete and fit the model."""
    ledger = _ledger(folder)
    if ledger["vocab_size"] > train.model.vocab_size:
        raise BadInput(
            f"{folder}: tokens of a vocabulary of {ledger['vocab_size']}, model.vocab_size is"
            f" only {train.model.vocab_size}"
        )
    if ledger["layout"] != layout:
        raise BadInput(f"{folder}: holds {ledger['layout']} tokens, data.layout asks for {layout}")
    if layout == "documents":
        return Documents(folder, ledger)
    return Rows(folder, ledger, sequence_length(train))


class Rows:
    """Row n is `length` tokens of the stream and the one after them, which is the last label."""

    equal = True

    def __init__(self, folder: Path, ledger: dict[str, Any], length: int) -> None:
        self.length = length
        self.files = [
            _mapped(folder, shard["file"], ledger["dtype"], shard["tokens"])
            for shard in ledger["shards"]
        ]
        self.names = [shard["file"] for shard in ledger["shards"]]
        rows = [max(0, (len(tokens) - 1) // length) for tokens in self.files]
        self.ends = np.cumsum(rows)
        self.shards = [int(self.ends[-1])]
        if not self.shards[0]:
            raise BadInput(
                f"{folder}: {sum(map(len, self.files))} tokens are less than one row of"
                f" {length + 1}"
            )

    def __len__(self) -> int:
        return self.shards[0]

    def _find(self, number: int) -> tuple[int, int]:
        shard = int(np.searchsorted(self.ends, number, side="right"))
        return shard, (number - (int(self.ends[shard - 1]) if shard else 0)) * self.length

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        rows = np.empty((len(numbers), self.length + 1), dtype=np.int64)
        for row, number in zip(rows, numbers, strict=True):
            shard, start = self._find(int(number))
            row[:] = self.files[shard][start : start + self.length + 1]
        return {"input": rows[:, :-1], "label": rows[:, 1:]}

    def where(self, number: int) -> str:
        shard, start = self._find(number)
        return f"{self.names[shard]} at token {start}"


class Documents:
    """Whole texts, padded to the longest of their batch; padding carries no loss."""

    equal = False

    def __init__(self, folder: Path, ledger: dict[str, Any]) -> None:
        self.pad = ledger["end"]
        self.names = [shard["file"] for shard in ledger["shards"]]
        self.files = [
            _mapped(folder, shard["file"], ledger["dtype"], shard["tokens"])
            for shard in ledger["shards"]
        ]
        self.stops = [
            _mapped(folder, shard["ends"], "<u8", shard["pieces"]) for shard in ledger["shards"]
        ]
        self.ends = np.cumsum([len(stops) for stops in self.stops])
        self.shards = [int(self.ends[-1])]
        self.lengths = np.concatenate(
            [np.diff(stops.astype(np.int64), prepend=0) for stops in self.stops]
        )

    def __len__(self) -> int:
        return self.shards[0]

    def _find(self, number: int) -> tuple[int, int, int]:
        shard = int(np.searchsorted(self.ends, number, side="right"))
        inside = number - (int(self.ends[shard - 1]) if shard else 0)
        return (
            shard,
            int(self.stops[shard][inside - 1]) if inside else 0,
            int(self.stops[shard][inside]),
        )

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        return padded(self.texts(numbers), self.pad)

    def texts(self, numbers: np.ndarray) -> list[np.ndarray]:
        found = (self._find(int(number)) for number in numbers)
        return [self.files[shard][start:stop] for shard, start, stop in found]

    def where(self, number: int) -> str:
        shard, start, _ = self._find(number)
        return f"{self.names[shard]} at token {start}"


def padded(texts: list[np.ndarray], pad: int) -> dict[str, np.ndarray]:
    longest = max(len(text) for text in texts) - 1
    inputs = np.full((len(texts), longest), pad, dtype=np.int64)
    labels = np.full((len(texts), longest), -100, dtype=np.int64)
    for row, text in enumerate(texts):
        inputs[row, : len(text) - 1], labels[row, : len(text) - 1] = text[:-1], text[1:]
    return {"input": inputs, "label": labels}


def check_store(folder: Path) -> None:
    """Read every shard and compare checksums."""
    ledger = _ledger(folder)
    for shard in ledger["shards"]:
        if zlib.crc32((folder / shard["file"]).read_bytes()) != shard["crc32"]:
            raise BadInput(
                f"{folder / shard['file']}: damaged, its checksum differs from the ledger's;"
                " remove the folder to make it again"
            )


def _ledger(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / LEDGER).read_text())  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise BadInput(
            f"{folder}: no {LEDGER}: its preparation was cut short, or it holds no token shards"
        ) from None
    except ValueError as error:
        raise BadInput(f"{folder / LEDGER}: not valid JSON: {error}") from None


def _mapped(folder: Path, name: str, kind: str, count: int) -> np.ndarray:
    path = folder / name
    size = path.stat().st_size if path.exists() else -1
    if size != count * np.dtype(kind).itemsize:
        raise BadInput(
            f"{path}: {'missing' if size < 0 else f'{size} bytes'}, the ledger says"
            f" {count * np.dtype(kind).itemsize}"
        )
    return np.memmap(path, dtype=kind, mode="r")
