"""MNIST's IDX files, plain or gzipped, wherever the usual downloads put them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from trainer.config import Model
from trainer.errors import BadInput

_PREFIX = {"train": "train", "validation": "t10k"}
_FOLDERS = ("", "raw", "MNIST/raw", "MNIST")


class Mnist:
    equal = True

    def __init__(self, folder: Path, split: str, model: Model) -> None:
        self.name = _PREFIX[split]
        self.pictures = _idx(folder, f"{self.name}-images-idx3-ubyte", 3)
        self.labels = _idx(folder, f"{self.name}-labels-idx1-ubyte", 1).astype(np.int64)
        if len(self.pictures) != len(self.labels):
            raise BadInput(f"{folder}: {len(self.pictures)} pictures but {len(self.labels)} labels")
        inputs = int(np.prod(self.pictures.shape[1:]))
        if inputs != model.inputs or self.labels.max(initial=0) >= model.classes:
            raise BadInput(
                f"{folder}: pictures of {inputs} points in {self.labels.max(initial=0) + 1}"
                f" classes, the model takes {model.inputs} in {model.classes}"
            )
        self.shards = [len(self.labels)]

    def __len__(self) -> int:
        return self.shards[0]

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        pictures = self.pictures[numbers].reshape(len(numbers), -1).astype(np.float32) / 255
        return {"input": pictures, "label": self.labels[numbers]}

    def where(self, number: int) -> str:
        return f"{self.name} picture {number}"


def _idx(folder: Path, name: str, dimensions: int) -> np.ndarray:
    candidates = [folder / inner / (name + ending) for inner in _FOLDERS for ending in ("", ".gz")]
    path = next((each for each in candidates if each.is_file()), None)
    if path is None:
        raise BadInput(f"{folder}: no {name} there, nor in raw or MNIST/raw, nor gzipped")
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    header = 4 + 4 * dimensions
    if len(raw) < header or raw[:4] != bytes((0, 0, 8, dimensions)):
        raise BadInput(f"{path}: not an IDX file of bytes in {dimensions} dimensions")
    shape = np.frombuffer(raw, ">u4", dimensions, 4).astype(int)
    if len(raw) - header != int(np.prod(shape)):
        raise BadInput(
            f"{path}: {len(raw) - header} bytes of data, its header says {int(np.prod(shape))}: cut"
            " short?"
        )
    return np.frombuffer(raw, np.uint8, offset=header).reshape(shape)
