"""Texts tokenised while training reads them: nothing is kept on disk, and only a few rows in memory.

Every rank reads the whole stream and keeps the rows that are its own, so a row has the same number for any number of
ranks. A place in the stream is (document, token within it): resuming skips to the document without making the rows before
it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trainer.arithmetic import sequence_length
from trainer.config import Train
from trainer.data.documents import documents, hub_documents
from trainer.data.loader import Batch, Loader
from trainer.data.tokenizer import open_tokenizer
from trainer.errors import BadInput

_NOMINAL_ROWS = 10_000_000  # a stream has no length; epochs are counted as if it had this one


class Stream:
    """A source that can only be read forwards."""

    equal = True
    shards = (_NOMINAL_ROWS,)

    def __init__(self, train: Train, output: Path) -> None:
        self.train, self.length = train, sequence_length(train)
        if train.data.layout != "packed":
            raise BadInput(f"data.stream reads packed rows, not data.layout {train.data.layout}")
        if train.data.tokenizer == "trained":
            raise BadInput("data.stream needs a tokenizer that exists: bytes, a file or a hub name, not trained")
        self.tokenizer = open_tokenizer(train.data, output, iter(()), train.model.vocab_size)

    def __len__(self) -> int:
        return _NOMINAL_ROWS

    def rows(self, document: int, offset: int) -> Iterator[tuple[np.ndarray, dict[str, int]]]:
        """Rows from a place on, each with the place after it; at the stream's end it begins again."""
        held: list[tuple[int, int, list[int]]] = []  # document, offset of the first token held, tokens
        size = 0
        while True:
            read = 0
            for number, text in enumerate(self._documents(document), document):
                read += 1
                tokens = [*self.tokenizer.encode([text])[0], self.tokenizer.end][offset:]
                held.append((number, offset, tokens))
                size, offset = size + len(tokens), 0
                while size > self.length:
                    row = np.fromiter(islice((token for _, _, each in held for token in each), self.length + 1), np.int64)
                    size -= self.length
                    held = _after(held, self.length)
                    yield row, {"document": held[0][0], "offset": held[0][1]}
            if not read and not document:
                raise BadInput(f"data.path {self.train.data.path}: no text in the stream")
            document = 0

    def _documents(self, skip: int) -> Iterator[str]:
        if self.train.data.source == "hf":
            return hub_documents(self.train.data, "train", skip)
        return islice(documents(self.train.data, "train"), skip, None)


def _after(held: list[tuple[int, int, list[int]]], count: int) -> list[tuple[int, int, list[int]]]:
    """What is held once `count` tokens are used up."""
    while count >= len(held[0][2]):
        count -= len(held.pop(0)[2])
    number, offset, tokens = held[0]
    return [(number, offset + count, tokens[count:]), *held[1:]]


class StreamLoader(Loader):
    """Batches from a stream; remembers the place after each step that may be saved."""

    def begin(self, resume: dict[str, Any] | None) -> None:
        place = resume or {"document": 0, "offset": 0}
        self._rows = self.samples.rows(place["document"], place["offset"])
        self._places = {self.position: place}

    def state(self, position: int) -> dict[str, Any] | None:
        self._places = {key: value for key, value in self._places.items() if key >= position}
        return self._places.get(position)

    def where(self, position: int, micro_batch: int) -> str:
        return f"document {self._places.get(position, {}).get('document', '?')} of the stream"

    def _step(self, position: int) -> list[Batch]:
        size, found = self.train.device_batch_size, []
        for micro_batch in range(self.train.batch_size // size):
            taken = [next(self._rows) for _ in range(size)]
            if micro_batch % self.world_size == self.rank:
                rows = torch.from_numpy(np.stack([row for row, _ in taken]))
                found.append({"input": rows[:, :-1].contiguous(), "label": rows[:, 1:].contiguous()})
        self._places = {**self._places, position + self.train.batch_size: taken[-1][1]}
        return found
