"""Samples, their order, and the files they come from."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from trainer.config import Data, Model, Train
from trainer.data import open_samples
from trainer.data.loader import Loader
from trainer.data.opening import open_loader
from trainer.data.order import Order, permuted
from trainer.data.tokens import check_store
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import BadInput

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


def write_hdf5(folder: Path, shards: int, rows: int = 6, length: int = 8) -> None:
    h5py = pytest.importorskip("h5py")
    folder.mkdir(exist_ok=True)
    for shard in range(shards):
        with h5py.File(folder / f"wiki_training_{shard}.hdf5", "w") as file:
            tokens = np.arange(rows * length).reshape(rows, length) % 90 + shard
            file["input_ids"], file["input_mask"], file["segment_ids"] = (
                tokens,
                np.ones_like(tokens),
                np.zeros_like(tokens),
            )
            file["masked_lm_positions"] = np.tile([2, 5, 0, 0], (rows, 1))
            file["masked_lm_ids"] = np.tile([11, 12, 0, 0], (rows, 1))
            file["next_sentence_labels"] = np.arange(rows) % 2


def bert_on(folder: Path, length: int = 8) -> Train:
    model = Model(kind="bert", context=16, vocab_size=100, heads=2, width=8)
    return Train(model=model, data=Data(source="hdf5", path=str(folder), sequence=length))


def test_hdf5_labels_stand_at_the_masked_positions_only(tmp_path: Path) -> None:
    write_hdf5(tmp_path / "h", shards=2)
    samples, _ = open_samples(bert_on(tmp_path / "h"), tmp_path, 2)
    batch = samples.take(np.array([0, 7]))
    assert batch["label"][0].tolist() == [-100, -100, 11, -100, -100, 12, -100, -100]
    assert len(samples) == 12 and samples.where(7) == "wiki_training_1.hdf5 row 1"


def test_hdf5_with_fewer_shards_than_processes_is_refused(tmp_path: Path) -> None:
    write_hdf5(tmp_path / "h", shards=2)
    with pytest.raises(BadInput, match="2 shards are too few for 3 processes"):
        open_samples(bert_on(tmp_path / "h"), tmp_path, 3)
    with pytest.raises(BadInput, match=r"sequences of 8, data\.sequence says 16"):
        open_samples(bert_on(tmp_path / "h", 16), tmp_path, 1)


def write_idx(path: Path, values: np.ndarray) -> None:
    raw = (
        bytes((0, 0, 8, values.ndim))
        + np.array(values.shape, ">u4").tobytes()
        + values.astype(np.uint8).tobytes()
    )
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


def test_mnist_is_read_plain_or_gzipped(tmp_path: Path) -> None:
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    pictures = np.arange(5 * 784).reshape(5, 28, 28) % 256
    write_idx(folder / "train-images-idx3-ubyte.gz", pictures)
    write_idx(folder / "train-labels-idx1-ubyte", np.arange(5))
    write_idx(folder / "t10k-images-idx3-ubyte", pictures[:2])
    write_idx(folder / "t10k-labels-idx1-ubyte", np.arange(2))
    train = Train(model=Model(kind="mlp"), data=Data(source="mnist", path=str(tmp_path)))
    samples, validation = open_samples(train, tmp_path, 1)
    assert (len(samples), len(validation or [])) == (5, 2)
    batch = samples.take(np.array([3]))
    assert batch["label"].tolist() == [3] and batch["input"][0, 1] == pytest.approx(
        (3 * 784 + 1) % 256 / 255
    )


def test_an_idx_file_cut_short_is_refused(tmp_path: Path) -> None:
    write_idx(tmp_path / "train-images-idx3-ubyte", np.zeros((2, 28, 28)))
    (tmp_path / "train-images-idx3-ubyte").write_bytes(
        (tmp_path / "train-images-idx3-ubyte").read_bytes()[:-9]
    )
    with pytest.raises(BadInput, match="cut short"):
        open_samples(
            Train(model=Model(kind="mlp"), data=Data(source="mnist", path=str(tmp_path))),
            tmp_path,
            1,
        )


def test_wikitext_is_put_back_together() -> None:
    from trainer.loop.evaluate import detokenised

    assert (
        detokenised('a well @-@ known 1 @,@ 000 ( or so ) , he said " yes " .')
        == 'a well-known 1,000 (or so), he said "yes".'
    )
