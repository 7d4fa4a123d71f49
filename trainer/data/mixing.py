"""Rows of a stream in a shuffled order that can be taken up again at any row.

Rows are gathered into blocks, which end with the stream's pass at the latest, and the order within
a block follows from (seed, number of the block) alone. While one block is handed out the next is
gathered, row for row. A bookmark is that of the block's first row and how many of its rows were
handed out: resuming reads only one block again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from trainer.data.order import permuted

Bookmark = dict[str, Any]
Read = tuple[np.ndarray, Bookmark]  # a row, and the bookmark after it


def mixed(
    rows: Iterator[Read], bookmark: Bookmark, size: int, seed: int
) -> Iterator[tuple[np.ndarray, Bookmark, Bookmark]]:
    """Each row with its origin and the bookmark after it; `rows` begin at `bookmark`."""
    number, taken, first_size = (
        bookmark.get("block", 0),
        bookmark.get("taken", 0),
        bookmark.get("size", size),
    )
    blocks = _Blocks(rows, bookmark, first_size, size)
    while True:
        block = blocks.next()
        order = permuted(np.arange(len(block)), len(block), (seed, number))
        start = {**block[0][1], "block": number, "size": first_size}
        for turn in range(taken, len(block)):
            row, origin = block[order[turn]]
            yield row, origin, {**start, "taken": turn + 1}
            blocks.read_ahead()
        number, taken, first_size = number + 1, 0, size


class _Blocks:
    """The first block keeps the size it had at the bookmark; the profile may have changed."""

    def __init__(
        self, rows: Iterator[Read], bookmark: Bookmark, first_size: int, size: int
    ) -> None:
        self.rows, self.bookmark, self.limit, self.size = rows, bookmark, first_size, size
        self.gathering: list[Read] = []
        self.gathered: deque[list[Read]] = deque()

    def next(self) -> list[Read]:
        while not self.gathered:
            self._read()
        return self.gathered.popleft()

    def read_ahead(self) -> None:
        if not self.gathered:
            self._read()

    def _read(self) -> None:
        row, after = next(self.rows)
        begin = {name: self.bookmark[name] for name in after}
        self.gathering.append((row, begin))
        if len(self.gathering) >= self.limit or after["pass"] != begin["pass"]:
            self.gathered.append(self.gathering)
            self.gathering, self.limit = [], self.size
        self.bookmark = after
