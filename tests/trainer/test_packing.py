"""Documents that share rows: the same losses and gradients, with less padding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.config import Train
from trainer.data import open_samples
from trainer.data.loader import Loader
from trainer.data.opening import open_loader
from trainer.data.packing import PackedLoader, fitted, laid_out
from trainer.data.tokens import padded
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import BadInput
from trainer.models import build, initialise
from trainer.models.packing import block_mask, table
from trainer.profile import read_profile
from trainer.validate import check

KINDS = {
    "gpt2": (),
    "gpt2, upcast": ("train.model.upcast_attention=true", "train.precision=fp16"),
    "gpt2, fused": (),
    "llama": ("train.model.kind=llama", "train.model.kv_heads=1"),
    "distilled": ("train.distill.teacher=fresh", "train.distill.alpha_ce=1.0"),
}
PACKED = ("train.data.packing=on", "train.model.dropout=0.0", "train.data.validation_fraction=0")


def train_of(*given: str) -> Train:
    return read_profile("gpt2-elastic-smoke", [*PACKED, *given]).train


def texts(*lengths: int) -> list[np.ndarray]:
    draw = np.random.default_rng(5)
    return [draw.integers(0, 250, length) for length in lengths]


def tensors(batch: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(values) for name, values in batch.items()}


def model_of(kind: str) -> Any:
    model = build(train_of(*KINDS[kind]))
    initialise(model, 3)
    if kind == "gpt2, fused":
        from trainer.strategies.cuda_graphs import use_fused_operators

        use_fused_operators(model)
        model.transformer.fuses_blocks = True
    return model


def gradients(model: Any) -> dict[str, torch.Tensor]:
    found = {name: each.grad.clone() for name, each in model.named_parameters()}
    model.zero_grad()
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_packed_rows_lose_what_their_documents_lose_one_by_one(kind: str) -> None:
    model, rows = model_of(kind), [texts(20, 12, 15), texts(40), texts(30, 13)]
    packed = model(tensors(laid_out(rows, 48, 257)))
    packed.sum().backward()
    got = gradients(model)
    losses = [model(tensors(padded([text], 257))) for row in rows for text in row]
    torch.stack(losses).sum().backward()
    torch.testing.assert_close(packed.sum(), torch.stack(losses).sum(), rtol=1e-5, atol=1e-5)
    for name, wanted in gradients(model).items():
        torch.testing.assert_close(got[name], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_flex_attention_agrees_with_the_mask(kind: str) -> None:
    model = model_of(kind)
    batch = tensors(laid_out([texts(20, 12, 15), texts(40)], 48, 257))
    with torch.no_grad():  # on a CPU it has no backward pass
        by_table = model.logits(batch["input"], (batch["position"], table(batch["document"])))
        by_blocks = model.logits(batch["input"], (batch["position"], block_mask(batch["document"])))
    torch.testing.assert_close(by_blocks, by_table, rtol=1e-5, atol=1e-5)


@settings(max_examples=50)
@given(st.lists(st.integers(1, 48), min_size=1, max_size=60))
def test_every_document_lies_in_one_row_and_rows_are_few(lengths: list[int]) -> None:
    rows = fitted(np.array(lengths), 48)
    assert sorted(place for row in rows for place in row) == list(range(len(lengths)))
    assert all(sum(lengths[place] for place in row) <= 48 for row in rows)
    least = -(-sum(lengths) // 48)
    assert len(rows) <= 11 / 9 * least + 1 or len([each for each in lengths if each > 24]) >= least


def test_a_token_never_predicts_the_beginning_of_the_next_document() -> None:
    first, second = texts(5, 4)
    batch = laid_out([[first, second]], 10, 257)
    assert batch["label"][0].tolist() == [*first[1:], *second[1:], -100, -100, -100]
    assert batch["input"][0].tolist() == [*first[:-1], *second[:-1], 257, 257, 257]
    assert batch["position"][0].tolist() == [0, 1, 2, 3, 0, 1, 2, 0, 0, 0]
    seen = table(torch.from_numpy(batch["document"]))[0, 0]
    assert seen[4].tolist() == [False] * 4 + [True] + [False] * 5


def test_a_document_longer_than_a_row_is_told() -> None:
    with pytest.raises(BadInput, match="a document of 50 tokens is longer than a row of 48"):
        fitted(np.array([49]), 48)


def place(rank: int = 0, world_size: int = 1) -> ProcessGroup:
    return ProcessGroup(rank, rank, world_size, world_size, torch.device("cpu"), grouped=False)


def steps(train: Train, count: int, world_size: int = 1, position: int = 0) -> list[list[Any]]:
    """The micro-batches of each step, rank by rank."""
    samples, _ = open_samples(train, Path(), world_size)
    loaders = [
        open_loader(samples, train, place(rank, world_size), position, None)
        for rank in range(world_size)
    ]
    taken = [
        [batches for batches, _ in ready]
        for _, ready in zip(range(count), zip(*loaders, strict=True), strict=False)
    ]
    for loader in loaders:
        loader.close()
    return taken


def labels(step: list[Any]) -> list[int]:
    found = [batch["label"][batch["label"] != -100] for rank in step for batch in rank]
    return sorted(torch.cat(found).tolist())


def slots(taken: list[list[Any]]) -> int:
    return sum(batch["input"].numel() for step in taken for rank in step for batch in rank)


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Many short texts and some long ones, as text usually is."""
    folder = tmp_path_factory.mktemp("stories")
    sizes = np.random.default_rng(2).lognormal(3.5, 0.8, 600).clip(12, 250).astype(int)
    rows = [{"text": "".join(chr(97 + (size + n) % 26) for n in range(size))} for size in sizes]
    (folder / "stories.json").write_text(json.dumps({"data": rows}))
    data = (
        "train.data.source=folder",
        f"train.data.path={folder}",
        f"train.data.cache={folder}-tokens",
    )
    shape = ("train.model.context=256", "train.batch_size=256", "train.device_batch_size=4")
    return (*data, *shape, "train.data.group_by_size=false")


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_a_step_holds_the_same_labels_in_fewer_tokens(
    world_size: int, stories: tuple[str, ...]
) -> None:
    train, off = train_of(*stories), train_of(*stories, "train.data.packing=off")
    packed, plain = steps(train, 4, world_size), steps(off, 4, world_size)
    assert [labels(step) for step in packed] == [labels(step) for step in plain]
    assert all(len({len(rank) for rank in step}) == 1 for step in packed), "all ranks run as often"
    shapes = {batch["input"].shape for step in packed for rank in step for batch in rank}
    assert len(shapes) <= 2 and all(length == 256 for _, length in shapes)
    real = sum(len(labels(step)) for step in plain)
    assert slots(packed) - real < 0.35 * (slots(plain) - real)


def test_a_position_continues_where_another_left_it_and_batches_never_grow() -> None:
    train = train_of("train.batch_size=36")
    whole, rest = steps(train, 6), steps(train, 3, position=3 * 36)
    for step, again in zip(whole[3:], rest, strict=True):
        for batch, same in zip(step[0], again[0], strict=True):
            assert all(torch.equal(batch[name], same[name]) for name in batch)
    assert all(
        len(rank) <= 12 and batch["input"].shape[0] <= 3
        for step in whole
        for rank in step
        for batch in rank
    )


def test_the_origin_of_a_micro_batch_is_its_first_document() -> None:
    train = train_of()
    samples, _ = open_samples(train, Path(), 1)
    loader = open_loader(samples, train, place(), 0, None)
    assert isinstance(loader, PackedLoader)
    first = loader.plan(12)[1][0][0]
    assert loader.where(12, 1) == f"synthetic sample {first}"
    loader.close()


def test_on_a_cpu_packing_is_for_those_who_ask() -> None:
    loader = open_loader(*_opened(read_profile("gpt2-elastic-smoke", []).train))
    assert type(loader) is Loader
    loader.close()


def test_a_stream_has_no_documents_to_lay_out() -> None:
    asked = ["train.data.packing=on", "train.data.stream=true"]
    with pytest.raises(BadInput, match="packing on needs rows that can be looked up"):
        check(read_profile("gpt2-elastic-smoke", asked), 1)


def _opened(train: Train) -> tuple[Any, ...]:
    return open_samples(train, Path(), 1)[0], train, place(), 0, None


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (
            "gpt2-small-smoke",
            "packing on is for data.layout documents; packed rows have no padding",
        ),
        ("bert-large-smoke", "packing on is for"),
    ],
)
def test_packing_where_it_means_nothing_is_refused(profile: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        check(read_profile(profile, ["train.data.packing=on"]), 1)
