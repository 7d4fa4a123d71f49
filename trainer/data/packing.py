"""Documents that share rows: those of a step are laid into as few rows as they need.

A step keeps its documents, and with them its loss and the meaning of a position; only the rows they
are computed in differ. Which document lies where follows from the lengths of the step's documents,
which every rank knows, so all ranks run the model equally often without asking one another.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

import numpy as np
import torch

from trainer.data.loader import Batch, Loader
from trainer.errors import BadInput
from trainer.validate import sequence_length

PADDING = -1  # the document of what is none
_LOOKED_AT = 20_000  # documents that are laid out beforehand, to know how many rows steps need
_STEPS = (4, 64)  # at least and at most so many steps of them


class PackedLoader(Loader):
    """A step's micro-batches, of one of two shapes: as many rows as steps mostly need, or
    `device_batch_size` rows where a step needs more."""

    def begin(self, resume: dict[str, Any] | None) -> None:
        super().begin(resume)
        self.room = sequence_length(self.train)
        self.usual = self._usual_rows()

    def where(self, position: int, micro_batch: int) -> str:
        rows = self.plan(position)[micro_batch]
        first = rows[0][0] if rows[0] else self.plan(position)[0][0][0]
        return self.samples.where(first)  # type: ignore[no-any-return]

    def plan(self, position: int) -> list[list[list[int]]]:
        """The micro-batches of the step over all ranks: rows of numbers of documents. Every rank
        has as many, the last ones filled up with empty rows."""
        rows = self._rows(position)
        size = self.usual
        rounds = -(-len(rows) // (size * self.world_size))
        if rounds > self._rounds(len(rows)):
            size, rounds = self.train.device_batch_size, self._rounds(len(rows))
        rows += [[] for _ in range(rounds * self.world_size * size - len(rows))]
        # Dealt out like cards, so that empty rows are spread over the micro-batches
        count = rounds * self.world_size
        return [rows[number::count] for number in range(count)]

    def _rounds(self, rows: int) -> int:
        """Micro-batches of each rank, when they are as large as can be."""
        return -(-rows // (self.train.device_batch_size * self.world_size))

    def _rows(self, position: int) -> list[list[int]]:
        numbers = self.order.numbers(position + np.arange(self.train.batch_size))
        # The last token of a document is only ever a label
        rows = fitted(self.samples.lengths[numbers] - 1, self.room)
        return [[int(numbers[place]) for place in row] for row in rows]

    def _usual_rows(self) -> int:
        """Rows of a micro-batch such that most steps need the fewest rounds and little is empty."""
        size = self.train.batch_size
        steps = min(max(_LOOKED_AT // size, _STEPS[0]), _STEPS[1])
        most = max(len(self._rows(step * size)) for step in range(steps))
        return -(-most // (self._rounds(most) * self.world_size))

    def _step(self, position: int) -> list[Batch]:
        return [self._packed(rows) for rows in self.plan(position)[self.rank :: self.world_size]]

    def _packed(self, rows: list[list[int]]) -> Batch:
        texts = [self.samples.texts(np.array(row, dtype=np.int64)) for row in rows]
        return {
            name: torch.from_numpy(values)
            for name, values in laid_out(texts, self.room, self.samples.pad).items()
        }


def fitted(lengths: np.ndarray, room: int) -> list[list[int]]:
    """Places of the lengths, row by row: the longest first, each into the fullest row it fits in;
    of equally full rows the first."""
    rows: list[list[int]] = []
    free: list[tuple[int, int]] = []  # what is left of a row, and its number
    for place in np.argsort(-lengths, kind="stable").tolist():
        length = int(lengths[place])
        if length > room:
            raise BadInput(
                f"a document of {length + 1} tokens is longer than a row of {room}; make the token"
                " shards again with this data.sequence"
            )
        at = bisect_left(free, (length, 0))
        left, row = free.pop(at) if at < len(free) else (room, len(rows))
        if row == len(rows):
            rows.append([])
        rows[row].append(place)
        insort(free, (left - length, row))
    return rows


def laid_out(texts: list[list[np.ndarray]], room: int, pad: int) -> dict[str, np.ndarray]:
    """Rows of several texts each: what goes in, what is predicted, which text of its row a token
    belongs to, and where in it. A text's last token is never an input, so that none predicts the
    beginning of the next."""
    shape = (len(texts), room)
    inputs = np.full(shape, pad, dtype=np.int64)
    labels = np.full(shape, -100, dtype=np.int64)
    documents = np.full(shape, PADDING, dtype=np.int64)
    positions = np.zeros(shape, dtype=np.int64)
    for row, in_row in enumerate(texts):
        start = 0
        for number, text in enumerate(in_row):
            place = slice(start, start + len(text) - 1)
            inputs[row, place], labels[row, place] = text[:-1], text[1:]
            documents[row, place], positions[row, place] = number, np.arange(len(text) - 1)
            start = place.stop
    return {"input": inputs, "label": labels, "document": documents, "position": positions}
