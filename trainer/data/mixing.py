"""Rows of a stream in a shuffled order that can be taken up again at any row.

Rows are gathered into blocks, which end with the stream's pass at the latest, and the order within
a block follows from (seed, number of the block) alone. While one block is handed out the next is
gathered, row for row. A place is the place of the block's first row and how many of its rows were
handed out: resuming reads one block again, and no more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from trainer.data.order import permuted

Bookmark = dict[str, Any]
Read = tuple[np.ndarray, Bookmark]  # a row, and the place after it


def mixed(
    rows: Iterator[Read], place: Bookmark, size: int, seed: int
) -> Iterator[tuple[np.ndarray, Bookmark, Bookmark]]:
    """Each row with where it came from and the place after it; `rows` begin where `place` does."""
    number, taken, first_size = (
        place.get("block", 0),
        place.get("taken", 0),
        place.get("size", size),
    )
    blocks = _Blocks(rows, place, first_size, size)
    while True:
        block = blocks.next()
        order = permuted(np.arange(len(block)), len(block), (seed, number))
        here = {**block[0][1], "block": number, "size": first_size}
        for turn in range(taken, len(block)):
            row, origin = block[order[turn]]
            yield row, origin, {**here, "taken": turn + 1}
            blocks.read_ahead()
        number, taken, first_size = number + 1, 0, size


class _Blocks:
    """The first block has the size it had when the place in it was noted; the profile may say
    another by now."""

    def __init__(self, rows: Iterator[Read], place: Bookmark, first_size: int, size: int) -> None:
        self.rows, self.place, self.limit, self.size = rows, place, first_size, size
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
        begin = {name: self.place[name] for name in after}
        self.gathering.append((row, begin))
        if len(self.gathering) >= self.limit or after["pass"] != begin["pass"]:
            self.gathered.append(self.gathering)
            self.gathering, self.limit = [], self.size
        self.place = after
