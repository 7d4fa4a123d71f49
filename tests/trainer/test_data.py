"""Samples, their order, and the files they come from."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from trainer.config import Data, Model, Profile, Train
from trainer.data import open_samples
from trainer.data.loader import Loader
from trainer.data.opening import open_loader
from trainer.data.order import Order, permuted
from trainer.data.tokens import check_store
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import BadInput
from trainer.validate import check

TEXT = "the quick brown fox jumps over the lazy dog. " * 40


def train_on(**data: Any) -> Train:
    small = Model(context=16, vocab_size=300)
    return Train(
        batch_size=8, device_batch_size=2, model=small, data=replace(Data(prefetch=2), **data)
    )


def place(rank: int = 0, world_size: int = 1) -> ProcessGroup:
    return ProcessGroup(rank, rank, world_size, world_size, torch.device("cpu"), grouped=False)


class Numbers:
    """Samples that are their own number."""

    equal, shards = True, (100,)

    def __init__(self, shards: tuple[int, ...] = (100,)) -> None:
        self.shards = shards

    def __len__(self) -> int:
        return sum(self.shards)

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        return {"input": numbers, "label": numbers}

    def where(self, number: int) -> str:
        return f"number {number}"


@pytest.mark.parametrize("count", [1, 2, 3, 64, 1000, 4097])
def test_a_computed_shuffle_is_a_permutation(count: int) -> None:
    assert sorted(permuted(np.arange(count), count, (7, 3))) == list(range(count))


def test_the_shuffle_differs_by_seed_and_epoch_and_mixes_well() -> None:
    places = np.arange(10_000)
    first, second = permuted(places, 10_000, (1, 0)), permuted(places, 10_000, (1, 1))
    assert (first == second).mean() < 0.01 and (
        first == permuted(places, 10_000, (2, 0))
    ).mean() < 0.01
    assert abs(np.corrcoef(places, first)[0, 1]) < 0.05


@pytest.mark.parametrize("shards", [(100,), (10, 50, 40)])
def test_an_epoch_holds_every_sample_once_even_when_batches_straddle_it(
    shards: tuple[int, ...],
) -> None:
    order = Order(Numbers(shards), seed=1)
    seen = np.concatenate(
        [order.numbers(np.arange(start, start + 8)) for start in range(0, 304, 8)]
    )
    for epoch in range(3):
        assert sorted(seen[epoch * 100 : epoch * 100 + 100]) == list(range(100))


def test_files_are_read_one_after_the_other() -> None:
    numbers = Order(Numbers((10, 50, 40)), seed=1).numbers(np.arange(100))
    shard = np.searchsorted([10, 60, 100], numbers, side="right")
    assert (np.diff(shard) != 0).sum() == 2


def taken(world_size: int, position: int, steps: int) -> list[list[int]]:
    """The samples of each step over all ranks, micro-batch by micro-batch."""
    loaders = [
        Loader(Numbers(), train_on(), place(rank, world_size), position)
        for rank in range(world_size)
    ]
    found = []
    for _, batches in zip(range(steps), zip(*loaders, strict=True), strict=False):
        rounds = zip(
            *(each for each, _ in batches), strict=True
        )  # each round holds one micro-batch of every rank
        found.append([int(n) for each in rounds for batch in each for n in batch["input"]])
    for loader in loaders:
        loader.close()
    return found


def test_a_step_holds_the_same_samples_for_any_number_of_ranks() -> None:
    assert taken(1, 0, 20) == taken(2, 0, 20) == taken(4, 0, 20)


def test_a_position_continues_the_stream_where_another_left_it() -> None:
    assert taken(1, 0, 20)[7:] == taken(2, 7 * 8, 13)


def test_synthetic_batches_come_as_late_as_they_are_asked_to(tmp_path: Path) -> None:
    train = train_on(latency=0.05)
    samples, late = (open_samples(each, tmp_path, 1)[0] for each in (train_on(), train))
    began = time.monotonic()
    batch = late.take(np.arange(3))
    assert time.monotonic() - began >= 0.05
    assert (batch["input"] == samples.take(np.arange(3))["input"]).all()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"latency": -1.0}, "data.latency -1: must be 0 or more seconds"),
        ({"latency": 1.0, "source": "text"}, "data.latency is for data.source synthetic"),
    ],
)
def test_a_latency_that_makes_no_sense_is_refused(data: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        check(Profile(train=train_on(**data)), 1)


def test_text_becomes_rows_whose_labels_are_the_next_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    samples, _ = open_samples(
        train_on(source="text", path=str(tmp_path / "a.txt"), validation_fraction=0),
        tmp_path / "out",
        1,
    )
    rows = samples.take(np.arange(2))
    assert bytes(rows["input"][0].tolist()).decode() == TEXT[:16]
    assert bytes(rows["label"][0].tolist()).decode() == TEXT[1:17]
    assert len(samples) == len(TEXT) // 16
    assert samples.where(1) == "tokens-00000.bin at token 16"


def folder_of_all_kinds(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a-train.jsonl").write_text(
        "".join(json.dumps({"text": f"jsonl {n} " * 5}) + "\n" for n in range(5))
    )
    (folder / "b-train.json").write_text(
        json.dumps({"data": [{"text": f"json {n} " * 5} for n in range(5)]})
    )
    (folder / "c-train.txt").write_text("plain text " * 30)
    (folder / "d-train.csv").write_text("text,other\n" + "csv text " * 5 + ",1\n")
    (folder / "validation.jsonl").write_text(json.dumps({"text": "held back " * 20}) + "\n")
    return folder


def test_a_folder_mixes_formats_and_keeps_validation_files_apart(tmp_path: Path) -> None:
    folder = folder_of_all_kinds(tmp_path / "in")
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": ["parquet text " * 6]}), folder / "e-train.parquet")
    train, validation = open_samples(
        train_on(source="folder", path=str(folder)), tmp_path / "out", 1
    )
    tokens = train.take(np.arange(len(train)))["input"].ravel().tolist()
    everything = bytes(token for token in tokens if token < 256).decode()
    for kind in ("jsonl 3", "json 4", "plain", "csv", "parquet"):
        assert kind in everything
    assert "held" not in everything
    assert (
        validation is not None
        and "held back" in bytes(validation.take(np.arange(1))["input"].ravel().tolist()).decode()
    )


def test_a_trained_tokenizer_shortens_text_and_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT * 5)
    settings = train_on(
        source="text",
        path=str(tmp_path / "a.txt"),
        tokenizer="trained",
        tokenizer_size=290,
        validation_fraction=0,
    )
    samples, _ = open_samples(settings, tmp_path / "out", 1)
    assert len(samples) < len(TEXT * 5) / 16 / 1.5
    assert list((tmp_path / "out").rglob("tokenizer.json"))


def test_documents_are_wrapped_cut_padded_and_grouped(tmp_path: Path) -> None:
    texts = ["x" * n for n in (5, 12, 13, 14, 40)]
    (tmp_path / "a.json").write_text(json.dumps({"data": [{"text": text} for text in texts]}))
    settings = train_on(
        source="folder",
        path=str(tmp_path),
        layout="documents",
        group_by_size=True,
        validation_fraction=0,
    )
    samples: Any = open_samples(settings, tmp_path / "out", 1)[0]
    # 5 is too short; 40 becomes pieces of 14, 14 and 12, all wrapped in end marks.
    assert sorted(samples.lengths.tolist()) == [14, 14, 15, 16, 16, 16]
    batch = samples.take(np.argsort(samples.lengths)[[0, 5]])
    assert batch["input"].shape == (2, 15) and batch["input"][0, 0] == 256
    assert (batch["label"][0, -2:] == -100).all() and batch["label"][1, -1] == 256


def test_tokens_are_made_once_and_a_damaged_shard_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    settings = train_on(source="text", path=str(tmp_path / "a.txt"), validation_fraction=0)
    open_samples(settings, tmp_path / "out", 1)
    shard = next((tmp_path / "out").rglob("tokens-*.bin"))
    made = shard.stat().st_mtime_ns
    open_samples(settings, tmp_path / "out", 1)
    assert shard.stat().st_mtime_ns == made
    check_store(shard.parent)
    raw = bytearray(shard.read_bytes())
    raw[3] ^= 1
    shard.write_bytes(raw)
    with pytest.raises(BadInput, match="damaged"):
        check_store(shard.parent)
    shard.write_bytes(raw[:-2])
    with pytest.raises(BadInput, match="the ledger says"):
        open_samples(settings, tmp_path / "out", 1)


def test_shards_without_a_ledger_are_made_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    settings = train_on(source="text", path=str(tmp_path / "a.txt"), validation_fraction=0)
    open_samples(settings, tmp_path / "out", 1)
    ledger = next((tmp_path / "out").rglob("ledger.json"))
    ledger.unlink()
    (ledger.parent / "tokens-00000.bin").write_bytes(b"cut short")
    assert len(open_samples(settings, tmp_path / "out", 1)[0]) == len(TEXT) // 16


def test_a_stream_gives_each_rank_its_own_rows_and_resumes_inside_a_document(
    tmp_path: Path,
) -> None:
    folder = folder_of_all_kinds(tmp_path / "in")
    settings = train_on(source="folder", path=str(folder), stream=True)
    stream, _ = open_samples(settings, tmp_path, 1)

    def read(world_size: int, position: int, state: Any, steps: int) -> tuple[list[Any], Any]:
        loaders = [
            open_loader(stream, settings, place(rank, world_size), position, state)
            for rank in range(world_size)
        ]
        found = []
        for _, batches in zip(range(steps), zip(*loaders, strict=True), strict=False):
            rounds = zip(*(each for each, _ in batches), strict=True)
            found.append(torch.cat([batch["input"] for each in rounds for batch in each]).tolist())
        kept = loaders[0].state(position + steps * 8)
        for loader in loaders:
            loader.close()
        return found, kept

    whole, _ = read(1, 0, None, 6)
    start, state = read(2, 0, None, 3)
    rest, _ = read(1, 24, json.loads(json.dumps(state)), 3)
    assert start + rest == whole
