"""What the fast path decides, by device and run; the figures behind it are in benchmarks."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trainer.config import Train
from trainer.errors import BadInput
from trainer.fast import Chip, chip_of, decided, line
from trainer.profile import read_profile
from trainer.validate import packs

H200 = Chip("cuda", "NVIDIA H200", True, 140 << 30, True)
T4 = Chip("cuda", "Tesla T4", False, 15 << 30, True)


def train_of(profile: str, *settings: str) -> Train:
    return read_profile(profile, list(settings)).train


def on(chip: Chip, profile: str, *settings: str, world_size: int = 1) -> Train:
    return decided(train_of(profile, *settings), world_size, chip)[0]


def test_nothing_changes_on_a_cpu() -> None:
    given = train_of("gpt2-small")
    found, decisions = decided(given, 1, Chip())
    assert decisions == [] and line(decisions, Chip()) == ""
    assert replace(found, fast=given.fast, strategy=given.strategy) == given
    assert found.strategy == replace(given.strategy, activation_checkpointing=False)
    assert (found.fast.compile, found.fast.cuda_graphs, found.fast.fused_loss) == ("off",) * 3


def test_a_gpu_gets_the_fast_path_and_the_recipe_stays() -> None:
    given = train_of("gpt2-small", "train.strategy.name=ddp")
    found, decisions = decided(given, 1, H200)
    assert found.precision == "bf16-master" and found.device_batch_size == 64
    assert (found.fast.compile, found.fast.cuda_graphs, found.fast.fused_loss) == (
        "model",
        "on",
        "on",
    )
    for kept in ("model", "batch_size", "optimizer", "schedule", "data", "seed", "steps"):
        assert getattr(found, kept) == getattr(given, kept)
    assert line(decisions, H200).startswith("fast on NVIDIA H200: precision=bf16-master,")


@pytest.mark.parametrize("strategy", ["ddp", "fsdp", "deepspeed"])
def test_documents_share_rows_on_a_gpu(strategy: str) -> None:
    settings = (f"train.strategy.name={strategy}", "train.data.layout=documents")
    assert packs(on(H200, "gpt2-small", *settings))
    assert not packs(on(H200, "gpt2-small", *settings, "train.data.packing=off"))
    assert not packs(on(H200, "gpt2-small", *settings, "train.data.stream=true"))
    assert not packs(on(Chip(), "gpt2-small", *settings))
    assert not packs(on(H200, "gpt2-small", settings[0]))


@pytest.mark.parametrize(
    ("settings", "precision", "compiled"),
    [
        (("train.strategy.name=ddp",), "bf16", "model"),
        (("train.strategy.name=fsdp",), "bf16", "blocks"),
        (("train.strategy.zero_stage=1",), "bf16", "model"),
        (("train.strategy.zero_stage=2",), "bf16", "model"),
        (("train.strategy.zero_stage=3",), "bf16", "blocks"),
    ],
)
def test_every_strategy_on_many_processes_gets_what_it_can_have(
    settings: tuple[str, ...], precision: str, compiled: str
) -> None:
    found = on(H200, "gpt2-small", *settings, world_size=16)
    assert (found.precision, found.fast.compile) == (precision, compiled)
    assert found.fast.cuda_graphs == "off" and found.device_batch_size == 32


def test_a_chip_without_bf16_trains_in_fp16_as_the_recipe_says() -> None:
    found = on(T4, "gpt2-small", "train.strategy.name=ddp")
    assert found.precision == "fp16" and found.fast.cuda_graphs == "off"
    assert found.device_batch_size == 8


def test_whoever_insists_gets_what_is_written() -> None:
    insisting = on(H200, "gpt2-small", "train.fast.precision=as-given")
    assert insisting.precision == "fp16"
    off = on(H200, "gpt2-small", "train.fast=off")
    assert (off.precision, off.device_batch_size, off.fast.compile) == ("fp16", 8, "off")
    alone = on(H200, "gpt2-small", "train.fast.compile=blocks", "train.strategy.name=ddp")
    assert alone.fast.compile == "blocks"


def test_without_a_compiler_on_the_node_nothing_is_compiled() -> None:
    found, decisions = decided(train_of("gpt2-small"), 1, replace(H200, can_compile=False))
    assert (found.fast.compile, found.fast.fused_loss) == ("off", "off")
    assert any("no C compiler" in each.reason for each in decisions)


def test_what_cannot_be_combined_is_decided_and_said() -> None:
    asked = train_of("gpt2-small", "train.fast.cuda_graphs=on", "train.strategy.name=fsdp")
    found, decisions = decided(asked, 8, H200)
    assert found.fast.cuda_graphs == "off" and found.precision == "bf16"
    assert any("asked for, but not with strategy fsdp" in each.reason for each in decisions)


@pytest.mark.parametrize("chip", [H200, Chip()])
def test_offloading_what_is_not_recomputed_is_left_out_and_said(chip: Chip) -> None:
    given = train_of("llama2-7b", "train.strategy.activation_checkpointing=false")
    found, decisions = decided(given, 16, chip)
    assert given.strategy.activation_offload and not found.strategy.activation_offload
    assert "train.strategy.activation_offload" in [each.setting for each in decisions]


def test_stage_3_compiles_no_block_whose_parameters_are_gathered_again_inside_it() -> None:
    recomputed = ("train.strategy.zero_stage=3", "train.strategy.activation_checkpointing=true")
    assert on(H200, "gpt2-small", *recomputed, world_size=16).fast.compile == "off"
    offloaded = ("train.strategy.zero_stage=3", "train.strategy.zero_offload=parameters")
    assert on(H200, "gpt2-small", *offloaded, world_size=16).fast.compile == "off"


def test_one_process_has_no_gradients_to_divide() -> None:
    stage_2 = train_of("gpt2-small", "train.strategy.zero_stage=2")
    found, decisions = decided(stage_2, 1, H200)
    assert found.strategy.zero_stage == 1
    assert "strategy.zero_stage=1" in line(decisions, H200)
    assert decided(stage_2, 2, H200)[0].strategy.zero_stage == 2


def test_micro_batches_grow_only_as_far_as_memory_and_the_batch_allow() -> None:
    small = replace(H200, memory=8 << 30)
    assert on(small, "gpt2-small", "train.strategy.name=ddp").device_batch_size == 8
    assert on(H200, "gpt2-small", "train.strategy.name=ddp").device_batch_size == 64
    odd = on(H200, "gpt2-small", "train.strategy.name=ddp", "train.batch_size=24")
    assert odd.device_batch_size == 8
    sized = on(H200, "llama2-7b", world_size=64)  # activation checkpointing: sized by its author
    assert sized.device_batch_size == 1


def test_fast_takes_auto_and_off_and_nothing_else(tmp_path: Path) -> None:
    assert train_of("gpt2-small", "train.fast=auto").fast.mode == "auto"
    with pytest.raises(BadInput, match=r"--set train\.fast=quick: .*mode is one of auto, off"):
        train_of("gpt2-small", "train.fast=quick")


def test_explain_tells_the_decisions_and_trains_nothing(tmp_path: Path) -> None:
    output = tmp_path / "run"
    command = [sys.executable, "-m", "trainer", "--profile", "gpt2-micro-smoke", "--explain"]
    done = subprocess.run(
        [*command, "--output", str(output)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "train.fast=nothing: on CPU" in done.stdout + done.stderr and not output.exists()


def test_a_path_wins_over_the_data_set_that_a_profile_names(tmp_path: Path) -> None:
    from trainer.data.own import with_own_data

    text = tmp_path / "book.txt"
    text.write_text("words")
    shards = tmp_path / "shards"
    shards.mkdir()
    (shards / "ledger.json").write_text("{}")

    def source(path: Path, profile: str = "gpt2-small") -> Any:
        return with_own_data(read_profile(profile, [f"train.data.path={path}"])).train.data

    assert source(text).source == "text" and source(tmp_path).source == "folder"
    assert source(shards).source == "tokens"
    assert source(text, "llama2-7b").stream and not source(shards, "llama2-7b").stream
    assert with_own_data(read_profile("gpt2-small", [])).train.data.source == "hf"


def test_the_machine_at_hand_is_described() -> None:
    import torch

    assert chip_of(torch.device("cpu")) == Chip()
