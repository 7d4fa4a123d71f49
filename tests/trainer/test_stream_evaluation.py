"""Streams are evaluated on a part of them that is not trained on."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from trainer.config import Data, Evaluate, Model, Train
from trainer.data import open_samples
from trainer.profile import read_profile

WIDTH = 16


def opened(folder: Path, texts: list[str], every: int = 2) -> tuple[Any, Any]:
    file = folder / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    train = Train(
        batch_size=4,
        device_batch_size=2,
        model=Model(context=WIDTH, vocab_size=512),
        data=Data(source="folder", path=str(folder), stream=True, shuffle=False),
        evaluate=Evaluate(every=every, batches=3),
    )
    return open_samples(train, folder, 1)


def test_the_first_rows_are_held_out_of_every_pass(tmp_path: Path) -> None:
    texts = [f"{number:04d} " * 5 for number in range(40)]
    stream, held = opened(tmp_path, texts)
    assert len(held) == 6  # three batches of two
    seen = "".join(
        bytes(token for token in row[:-1].tolist() if token < 256).decode()
        for row, _ in islice(stream.rows(stream.beginning), 200)
    )
    held_text = bytes(token for token in held.rows[:, :-1].ravel().tolist() if token < 256).decode()
    assert held_text.startswith(texts[0][:10]) and "0039" in seen and seen.count("0030") > 10
    assert {text[:4] for text in texts if text[:4] in held_text} & {
        text[:4] for text in texts if text[:4] in seen
    } == set()


def test_a_stream_that_is_too_short_to_spare_any_is_trained_on_whole(tmp_path: Path) -> None:
    stream, held = opened(tmp_path, ["a text " * 30])
    assert held is None and stream.beginning["document"] == 0


def test_nothing_is_held_out_where_nothing_is_evaluated(tmp_path: Path) -> None:
    assert opened(tmp_path, ["some text " * 5] * 40, every=0)[1] is None


def test_the_llama_guide_evaluates_its_stream() -> None:
    train = read_profile("llama2-7b").train
    assert train.data.stream and train.evaluate.every == 500


@pytest.mark.parametrize("number", [0, 5])
def test_a_held_row_says_where_it_is_from(number: int, tmp_path: Path) -> None:
    _, held = opened(tmp_path, [f"{each:04d} " * 5 for each in range(40)])
    assert str(number) in held.where(number)
