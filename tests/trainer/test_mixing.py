"""The shuffle of streams: every row once in a pass, in an order that resumes at any bookmark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from trainer.config import Data, Model, Train
from trainer.data.mixing import mixed
from trainer.data.stream import BEGINNING, Stream, StreamLoader
from trainer.distributed.process_group import ProcessGroup

ROWS = 23  # in a pass


def numbered(place: dict[str, Any]) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    """Rows that are their own number, pass after pass."""
    turn, number = place["pass"], place["document"]
    while True:
        turn_after, number_after = divmod(turn * ROWS + number + 1, ROWS)
        yield (
            np.array([number]),
            {"pass": turn_after, "document": number_after, "source": None, "offset": 0},
        )
        turn, number = turn_after, number_after


def order(
    count: int, size: int, place: dict[str, Any] = BEGINNING, seed: int = 7
) -> list[tuple[int, dict[str, Any]]]:
    found = islice(mixed(numbered(place), place, size, seed), count)
    return [
        (int(row[0]), json.loads(json.dumps(after)))
        for row, origin, after in found
        if origin["document"] == row[0]
    ]


@pytest.mark.parametrize("size", [1, 4, 10, ROWS, 1000])
def test_each_pass_holds_every_row_once(size: int) -> None:
    found = [number for number, _ in order(3 * ROWS, size)]
    for turn in range(3):
        assert sorted(found[turn * ROWS : (turn + 1) * ROWS]) == list(range(ROWS))


def test_the_order_differs_by_pass_and_seed_and_is_the_files_own_without_a_shuffle() -> None:
    found = [number for number, _ in order(2 * ROWS, 1000)]
    other = [number for number, _ in order(ROWS, 1000, seed=8)]
    assert len({tuple(found[:ROWS]), tuple(found[ROWS:]), tuple(other), tuple(range(ROWS))}) == 4
    assert [number for number, _ in order(ROWS, 1)] == list(range(ROWS))


@pytest.mark.parametrize("size", [1, 4, 10, 1000])
def test_every_place_leads_to_the_rows_that_followed(size: int) -> None:
    whole = order(3 * ROWS, size)
    for number in range(2 * ROWS):
        assert order(10, size, whole[number][1]) == whole[number + 1 : number + 11], (
            f"after row {number}"
        )


def test_another_size_at_the_next_start_neither_repeats_nor_loses_a_row() -> None:
    begun = order(ROWS // 2, 10)
    rest = order(ROWS - ROWS // 2, 3, begun[-1][1])
    assert sorted(number for number, _ in begun + rest) == list(range(ROWS))


def test_a_loader_begins_again_inside_a_block_and_says_where_a_batch_came_from(
    tmp_path: Path,
) -> None:
    texts = [f"text {number:04d} of this stream" for number in range(200)]
    (tmp_path / "train.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in texts)
    )
    data = Data(source="folder", path=str(tmp_path / "train.jsonl"), stream=True, shuffle_rows=8)
    train = Train(
        batch_size=4, device_batch_size=2, data=data, model=Model(context=16, vocab_size=257)
    )
    stream = Stream(train, tmp_path)
    alone = ProcessGroup(0, 0, 1, 1, torch.device("cpu"), grouped=False)

    def batches(
        position: int, state: dict[str, Any] | None, steps: int
    ) -> tuple[list[Any], dict[str, Any]]:
        loader = StreamLoader(stream, train, alone, position, state)
        found = [
            [batch["input"].tolist() for batch in step] for step, _ in islice(iter(loader), steps)
        ]
        kept = loader.state(position + 4 * steps)
        said = loader.where(position, 1)
        loader.close()
        document, token = (int(word) for word in re.findall(r"\d+", said))
        tokens = [*texts[document].encode(), 256, *texts[document + 1].encode()]
        assert found[0][1][0] == tokens[token : token + 16], said
        return found, json.loads(json.dumps(kept))

    whole, _ = batches(0, None, 30)
    first, kept = batches(0, None, 25)
    rest, _ = batches(100, kept, 5)
    assert first + rest == whole
    assert kept["document"] > 40 and 0 < kept["taken"] < 8
