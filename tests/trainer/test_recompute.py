"""Blocks that are computed again in the backward pass: how many, how, and with the same results."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.trainer.launching import launch_several, losses, worst_difference
from trainer.config import Train
from trainer.fast import Chip, Decision, decided
from trainer.memory import estimate
from trainer.models import build, initialise
from trainer.profile import read_profile
from trainer.recompute import Recompute, least, recomputed_places
from trainer.strategies.activations import recompute_blocks

H200 = Chip("cuda", "NVIDIA H200", True, 140 << 30, True)
SMALL = (
    "train.model={layers: 4, heads: 2, width: 16, context: 16, vocab_size: 64, mlp_width: 32}",
    "train.batch_size=2",
    "train.device_batch_size=2",
)
WAYS: dict[str, dict[str, Any]] = {
    "all": {},
    "cheap": {"recompute": "cheap"},
    "half": {"recomputed_blocks": 2},
    "one, cheap": {"recomputed_blocks": 1, "recompute": "cheap"},
    "offloaded": {"activation_offload": True},
    "offloaded, cheap": {"activation_offload": True, "recompute": "cheap"},
}
KINDS = {
    "gpt2": ("gpt2-small-smoke", "train.model.dropout=0.0"),
    "gpt2, dropout": ("gpt2-small-smoke", "train.model.dropout=0.2"),
    "llama": ("llama2-7b-smoke",),
    "bert": ("bert-large-smoke", "train.model.dropout=0.2"),
}


def train_of(profile: str, *settings: str) -> Train:
    return read_profile(profile, list(settings)).train


def batch(train: Train) -> dict[str, torch.Tensor]:
    tokens = torch.randint(0, 60, (2, 17), generator=torch.Generator().manual_seed(1))
    found = {"input": tokens[:, :-1], "label": tokens[:, 1:]}
    if train.model.kind == "bert":
        found |= {name: torch.ones(2, 16, dtype=torch.long) for name in ("segment", "mask")}
        found["next"] = torch.ones(2, dtype=torch.long)
    return found


def model_of(train: Train) -> Any:
    model = build(train)
    initialise(model, 1)
    return model


def learned(model: Any, train: Train) -> tuple[Any, dict[str, Any], list[int]]:
    """The losses, every gradient, and how often each block computed its first norm or product."""
    blocks, calls = [block for _, _, block in model.blocks()], [0] * train.model.layers

    def count(place: int) -> Any:
        def hook(*_: Any) -> None:
            calls[place] += 1

        return hook

    for place, block in enumerate(blocks):
        first = next(part for part in block.modules() if not list(part.children()))
        first.register_forward_hook(count(place))
    torch.manual_seed(5)
    found = model(batch(train))
    found.sum().backward()
    return found.detach(), {name: each.grad for name, each in model.named_parameters()}, calls


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_losses_and_gradients_are_those_of_a_run_that_recomputes_nothing(
    kind: str, way: str
) -> None:
    profile, *settings = KINDS[kind]
    train = train_of(profile, *SMALL, *settings)
    wanted, slopes, once = learned(model_of(train), train)
    model = model_of(train)
    strategy = replace(train.strategy, activation_checkpointing=True, **WAYS[way])
    recompute_blocks(model, strategy, train.model.dropout)
    found, again, calls = learned(model, train)
    assert torch.equal(found, wanted)
    for name, slope in slopes.items():
        torch.testing.assert_close(again[name], slope, rtol=1e-6, atol=1e-7)
    expected = WAYS[way].get("recomputed_blocks", 4)
    assert once == [1] * 4 and sum(calls) == 4 + expected


def kept_numbers(train: Train, **way: Any) -> int:
    """Numbers that autograd holds on to between the two passes, weights aside."""
    model = model_of(train)
    recompute_blocks(
        model, replace(train.strategy, activation_checkpointing=True, **way), train.model.dropout
    )
    own = {each.untyped_storage().data_ptr() for each in model.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        alive = model(batch(train))
    assert alive.requires_grad
    return sum(kept.values())


def test_fewer_blocks_recomputed_keep_more() -> None:
    train = train_of("llama2-7b-smoke", *SMALL)
    amounts = [kept_numbers(train, recomputed_blocks=count) for count in (1, 2, 3, 4)]
    assert amounts == sorted(amounts, reverse=True) and len(set(amounts)) == 4


@pytest.mark.parametrize("name", ["mm", "addmm"])
def test_products_are_not_computed_again_where_only_the_cheap_parts_are(name: str) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    train = train_of("gpt2-small-smoke", *SMALL, "train.model.dropout=0.0")
    operator = getattr(torch.ops.aten, name).default

    class Counting(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            Counting.count += func is operator
            return func(*args, **(kwargs or {}))

    def products(**way: Any) -> int:
        model = model_of(train)
        if way:
            strategy = replace(train.strategy, activation_checkpointing=True, **way)
            recompute_blocks(model, strategy, 0.0)
        Counting.count = 0
        with Counting():
            model(batch(train)).sum().backward()
        return Counting.count

    assert products(recompute="cheap") == products()
    if name == "addmm":
        assert products(recompute="block") > products()


@pytest.mark.parametrize(("layers", "count"), [(12, 5), (4, 4), (7, 1), (3, 0), (2, 9)])
def test_blocks_are_evenly_spread(layers: int, count: int) -> None:
    places = recomputed_places(layers, count)
    assert len(places) == min(count or layers, layers)
    gaps = {after - before for before, after in pairwise(places)}
    assert not gaps or max(gaps) - min(gaps) <= 1


def test_as_little_is_recomputed_as_fits() -> None:
    # Ten blocks of 10 bytes, 4 of them where cheap parts are recomputed, 1 where all is
    assert least(10, 100, 10, 4, 1) == Recompute()
    assert least(10, 99, 10, 4, 1) == Recompute(2, "cheap")
    assert least(10, 50, 10, 4, 1) == Recompute(10, "cheap")
    assert least(10, 49, 10, 4, 1) == Recompute(7, "block")
    assert least(10, 20, 10, 4, 1) == Recompute(10, "block")
    assert least(10, 19, 10, 4, 1) == Recompute(10, "block", fits=False)


def recomputing(memory_gib: int, *settings: str, profile: str = "llama2-7b") -> tuple[Train, Any]:
    auto = ("train.strategy={activation_checkpointing: auto, activation_offload: false}",)
    chip = replace(H200, memory=memory_gib << 30)
    train, made = decided(train_of(profile, *auto, *settings), 8, chip)
    said = [each for each in made if each.setting == "train.strategy.activation_checkpointing"]
    return train, said[0] if said else None


def test_auto_recomputes_by_the_memory_of_the_chip() -> None:
    batch_of_eight = ("train.batch_size=64", "train.device_batch_size=8")
    enough, said = recomputing(400, *batch_of_eight)
    assert enough.strategy.activation_checkpointing is False and said is None
    some, said = recomputing(190, *batch_of_eight)
    assert some.strategy.activation_checkpointing is True and some.strategy.recompute == "cheap"
    assert isinstance(said, Decision) and said.reason.startswith("the cheap parts of ")
    assert some.device_batch_size == 8 and some.fast.compile == "blocks"
    little, said = recomputing(60, *batch_of_eight)
    assert little.strategy.recompute == "block" and said.reason.startswith("all of ")
    none, said = recomputing(24, *batch_of_eight)
    assert none.strategy.recomputed_blocks == 32 and said.reason.endswith("even so it may not fit")


def test_auto_is_nothing_on_a_cpu_and_what_is_written_stays() -> None:
    assert decided(train_of("gpt2-small"), 1, Chip())[0].strategy.activation_checkpointing is False
    given = decided(train_of("llama2-7b"), 64, replace(H200, memory=24 << 30))[0].strategy
    assert given == train_of("llama2-7b").strategy
    asked = train_of("gpt2-small", "train.strategy.activation_offload=true")
    assert decided(asked, 1, H200)[0].strategy.activation_checkpointing is True


def test_the_estimate_knows_how_many_blocks_are_recomputed() -> None:
    train = train_of("llama2-7b", "train.strategy.activation_offload=false")

    def kept(**way: Any) -> float:
        return estimate(replace(train, strategy=replace(train.strategy, **way)), 64, 8).activations

    none, cheap, whole = kept(activation_checkpointing=False), kept(recompute="cheap"), kept()
    assert whole < cheap < none and whole < kept(recomputed_blocks=16) < none


STRATEGIES = {
    "ddp": ("train.strategy.name=ddp",),
    "fsdp": ("train.strategy.name=fsdp",),
    "zero1": ("train.strategy.name=deepspeed", "train.strategy.zero_stage=1"),
    "zero3": ("train.strategy.name=deepspeed", "train.strategy.zero_stage=3"),
}
RUNS = {
    "all": ("train.strategy.activation_offload=true",),
    "cheap": ("train.strategy.recompute=cheap", "train.strategy.recomputed_blocks=1"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("deepspeed")
    output = tmp_path_factory.mktemp("runs")
    common = (
        "train.steps=3",
        "train.log.every=1",
        "train.checkpoint.every=0",
        "train.batch_size=8",
    )
    common += ("train.strategy.activation_offload=false", "train.model.dropout=0.1")
    common += ("train.schedule.warmup_steps=1", "train.data.validation_fraction=0")
    wanted = [
        ("plain", ("train.strategy.name=ddp", "train.strategy.activation_checkpointing=false"))
    ]
    wanted += [
        (f"{name} {way}", (*strategy, *settings, "train.strategy.activation_checkpointing=true"))
        for name, strategy in STRATEGIES.items()
        for way, settings in RUNS.items()
    ]
    ended = launch_several(
        output, [(name, "gpt2-micro-smoke", (*common, *settings)) for name, settings in wanted], 2
    )
    assert ended.code == 0, ended.text
    return output


@pytest.mark.processes
@pytest.mark.parametrize("way", RUNS)
@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_loses_the_same_with_recomputed_blocks(
    name: str, way: str, runs: Path
) -> None:
    assert worst_difference(losses(runs / f"{name} {way}"), losses(runs / "plain")) < 1e-5
