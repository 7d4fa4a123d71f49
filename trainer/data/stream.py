"""Texts tokenised while training reads them: nothing is kept on disk, and only the rows being
shuffled in memory.

Every rank reads the whole stream and keeps the rows that are its own, so a row has the same number
for any number of ranks. A bookmark in the stream is (document, token within it), and for a hub
dataset the file and row of that document: resuming goes to the document without making the rows
before it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trainer.config import Train
from trainer.data.documents import documents, hub_documents
from trainer.data.loader import Batch, Loader
from trainer.data.mixing import Bookmark, mixed
from trainer.data.tokenizer import open_tokenizer
from trainer.errors import BadInput
from trainer.validate import sequence_length

_NOMINAL_ROWS = 10_000_000  # a stream has no length; epochs are counted as if it had this one
# pass: how often the stream ended before; document: its number; source: how its reader finds it;
# offset: the token within it
BEGINNING: Bookmark = {"pass": 0, "document": 0, "source": None, "offset": 0}
_Held = tuple[Bookmark, int, np.ndarray]  # a document, the offset of the first token held, tokens


class Stream:
    """A source that can only be read forwards."""

    equal = True
    shards = (_NOMINAL_ROWS,)

    def __init__(self, train: Train, output: Path) -> None:
        self.train, self.length = train, sequence_length(train)
        if train.data.layout != "packed":
            raise BadInput(f"data.stream reads packed rows, not data.layout {train.data.layout}")
        if train.data.tokenizer == "trained":
            raise BadInput(
                "data.stream needs a tokenizer that exists: bytes, a file or a hub name, not"
                " trained"
            )
        self.tokenizer = open_tokenizer(train.data, output, iter(()), train.model.vocab_size)
        self.beginning: Bookmark = BEGINNING  # of every pass

    def hold_out(self, count: int) -> HeldRows | None:
        """The first `count` rows, which are then not trained on: every pass begins with the first
        document after them. None where the stream is too short to spare them."""
        rows = []
        for row, after in self.rows(BEGINNING):
            rows.append(row)
            if after["pass"]:
                return None
            if len(rows) == count:
                break
        following = (document for _, document in self._documents(BEGINNING))
        last = after["document"]
        first = next((each for each in following if each["document"] > last), None)
        if first is None:
            return None
        self.beginning = {**BEGINNING, **first}
        return HeldRows(np.stack(rows))

    def __len__(self) -> int:
        return _NOMINAL_ROWS

    def rows(self, bookmark: Bookmark) -> Iterator[tuple[np.ndarray, Bookmark]]:
        """Rows from a bookmark on, each with the next bookmark; endless, in passes."""
        held: list[_Held] = []
        size, offset = 0, bookmark["offset"]
        while True:
            read = 0
            for text, document in self._documents(bookmark):
                read += 1
                # An array: cutting a row from it copies the row alone, however long the text is.
                tokens = np.array(
                    [*self.tokenizer.encode([text])[0], self.tokenizer.end], dtype=np.int64
                )[offset:]
                held.append((document, offset, tokens))
                size, offset = size + len(tokens), 0
                while size > self.length:
                    row = _first(held, self.length + 1)
                    size -= self.length
                    held = _after(held, self.length)
                    yield row, {**held[0][0], "offset": held[0][1]}
            if not read and bookmark["document"] == self.beginning["document"]:
                raise BadInput(
                    f"data.path {self.train.data.path or self.train.data.dataset}: no text in the"
                    " stream"
                )
            bookmark, offset = {**self.beginning, "pass": bookmark["pass"] + 1}, 0

    def _documents(self, bookmark: Bookmark) -> Iterator[tuple[str, Bookmark]]:
        """Texts from a bookmark on, each with its own bookmark."""
        data, first = self.train.data, bookmark["document"]
        if data.source == "hf":
            texts = hub_documents(data, "train", bookmark["source"])
        else:
            texts = ((text, None) for text in islice(documents(data, "train"), first, None))
        for number, (text, source) in enumerate(texts, first):
            yield text, {"pass": bookmark["pass"], "document": number, "source": source}


class HeldRows:
    """Rows of a stream that are kept in memory, to evaluate on."""

    equal = True

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.shards = rows, (len(rows),)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        rows = self.rows[numbers]
        return {"input": rows[:, :-1], "label": rows[:, 1:]}

    def where(self, number: int) -> str:
        return f"row {number} of the stream's held-out part"


def _first(held: list[_Held], count: int) -> np.ndarray:
    parts: list[np.ndarray] = []
    for _, _, tokens in held:
        parts.append(tokens[:count])
        count -= len(parts[-1])
        if not count:
            break
    return np.concatenate(parts)


def _after(held: list[_Held], count: int) -> list[_Held]:
    """What is held once `count` tokens are used up."""
    while count >= len(held[0][2]):
        count -= len(held.pop(0)[2])
    document, offset, tokens = held[0]
    return [(document, offset + count, tokens[count:]), *held[1:]]


class StreamLoader(Loader):
    """Batches from a stream; remembers the bookmark after each step that may be saved."""

    def begin(self, resume: dict[str, Any] | None) -> None:
        bookmark = {**self.samples.beginning, **(resume or {})}
        size = max(1, self.train.data.shuffle_rows) if self.train.data.shuffle else 1
        self._rows = mixed(self.samples.rows(bookmark), bookmark, size, self.train.seed)
        self._bookmarks = {self.position: bookmark}
        self._origins: dict[int, list[Bookmark]] = {}  # of the first row of each micro-batch
        # As far as this thread runs ahead of the model, and as far back as a loss may still be
        # looked at.
        self._kept = (self.train.data.prefetch + self.train.log.every + 3) * self.train.batch_size

    def state(self, position: int) -> dict[str, Any] | None:
        return self._bookmarks[position]

    def where(self, position: int, micro_batch: int) -> str:
        origin = self._origins[position][micro_batch]
        return f"document {origin['document']} of the stream, from its token {origin['offset']} on"

    def _step(self, position: int) -> list[Batch]:
        size, batches, origins = self.train.device_batch_size, [], []
        for micro_batch in range(self.train.batch_size // size):
            taken = [next(self._rows) for _ in range(size)]
            origins.append(taken[0][1])
            if micro_batch % self.world_size == self.rank:
                rows = torch.from_numpy(np.stack([row for row, _, _ in taken]))
                batches.append(
                    {"input": rows[:, :-1].contiguous(), "label": rows[:, 1:].contiguous()}
                )
        # Replaced and not changed: the training thread reads them.
        self._bookmarks = self._recent(self._bookmarks, position) | {
            position + self.train.batch_size: taken[-1][2]
        }
        self._origins = self._recent(self._origins, position) | {position: origins}
        return batches

    def _recent(self, noted: dict[int, Any], position: int) -> dict[int, Any]:
        return {at: value for at, value in noted.items() if at >= position - self._kept}
