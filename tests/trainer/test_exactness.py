"""The same run, however it is spread, cut short or resumed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.trainer.launching import (
    kill_after,
    launch,
    launch_several,
    losses,
    start,
    steps_saved,
    worst_difference,
)

pytestmark = pytest.mark.processes
# Dropout stays on: it follows from the step and the micro-batch, not from who computes it.
COMMON = (
    "train.steps=8",
    "train.schedule.warmup_steps=2",
    "train.log.every=1",
    "train.checkpoint.every=3",
    "train.checkpoint.keep=0",
    "train.model.dropout=0.1",
    "train.data.validation_fraction=0",
)
STRATEGIES = {
    "ddp": ("train.strategy.name=ddp",),
    "fsdp": ("train.strategy.name=fsdp",),
    "zero1": ("train.strategy.name=deepspeed", "train.strategy.zero_stage=1"),
    "zero3": ("train.strategy.name=deepspeed", "train.strategy.zero_stage=3"),
}
PROFILE = "gpt2-micro-smoke"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[int, float]:
    output = tmp_path_factory.mktemp("alone")
    ended = launch(PROFILE, output, *COMMON)
    assert ended.code == 0, ended.text
    return losses(output)


@pytest.mark.parametrize("name", STRATEGIES)
def test_two_processes_killed_and_resumed_equal_one_uninterrupted(
    name: str, alone: dict[int, float], tmp_path: Path
) -> None:
    if name.startswith("zero"):
        pytest.importorskip("deepspeed")
    output = tmp_path / "run"
    settings = (*COMMON, *STRATEGIES[name])
    kill_after(start(PROFILE, output, *settings, processes=2), output, checkpoint=3)
    before = max(losses(output))
    assert before < 8
    shutil.copytree(output, tmp_path / "smaller")

    resumed = launch(PROFILE, output, *settings, processes=2)
    assert resumed.code == 0, resumed.text
    assert "resuming from" in resumed.text
    assert worst_difference(losses(output), alone) < 1e-5

    assert _exported(output, tmp_path / "hf") == 8

    # The same checkpoint on one process instead of two.
    resized = launch(PROFILE, tmp_path / "smaller", *settings, processes=1)
    assert resized.code == 0, resized.text
    assert worst_difference(losses(tmp_path / "smaller"), alone) < 1e-3


@pytest.mark.parametrize("name", ["ddp", "fsdp", "zero1"])
def test_one_process_becomes_two(name: str, alone: dict[int, float], tmp_path: Path) -> None:
    if name == "zero1":
        pytest.importorskip("deepspeed")
    settings = (*COMMON, *STRATEGIES[name])
    first = launch(PROFILE, tmp_path, *settings, processes=1)
    assert first.code == 0, first.text
    assert worst_difference(losses(tmp_path), alone) < 1e-4
    for step in steps_saved(tmp_path):
        if step > 3:
            shutil.rmtree(tmp_path / "checkpoints" / f"step-{step:08d}")
    # One process on a GPU saves stage 2 as stage 1, which is the same there
    stage = ("train.strategy.zero_stage=2",) if name == "zero1" else ()
    second = launch(PROFILE, tmp_path, *settings, *stage, processes=2)
    assert second.code == 0, second.text
    assert worst_difference(losses(tmp_path), alone) < 1e-3


def test_what_ddp_saved_fsdp_can_load(alone: dict[int, float], tmp_path: Path) -> None:
    assert (
        launch(PROFILE, tmp_path, *COMMON, "train.steps=3", "train.schedule.decay_steps=8").code
        == 0
    )
    ended = launch(PROFILE, tmp_path, *COMMON, *STRATEGIES["fsdp"])
    assert ended.code == 0, ended.text
    assert worst_difference(losses(tmp_path), alone) < 1e-5


# Their batches are uneven (masked words, texts of different lengths), or sharded, or taught. The
# first decides how the processes of all find one another: sharding needs a process group.
UNEVEN = ("llama2-70b", "bert-large", "gpt2-elastic", "gpt2-distilled", "mnist-mlp")


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("uneven")
    settings = (
        "train.steps=3",
        "train.log.every=1",
        "train.schedule.warmup_steps=1",
        "train.data.validation_fraction=0",
        "train.evaluate.every=0",
    )
    for processes in (1, 2):
        runs = [(f"{name}-{processes}", f"{name}-smoke", settings) for name in UNEVEN]
        ended = launch_several(output, runs, processes)
        assert ended.code == 0, ended.text
    return output


@pytest.mark.parametrize("name", UNEVEN)
def test_a_smoke_profile_loses_the_same_on_two_processes(name: str, uneven: Path) -> None:
    assert worst_difference(losses(uneven / f"{name}-1"), losses(uneven / f"{name}-2")) < 1e-4


def _exported(output: Path, target: Path) -> int:
    """The number of steps of the checkpoint that was exported and loads with transformers."""
    from transformers import AutoModelForCausalLM

    from trainer.export import main

    assert main([str(output), str(target)]) == 0
    assert AutoModelForCausalLM.from_pretrained(target).config.n_layer == 2
    return steps_saved(output)[-1]
