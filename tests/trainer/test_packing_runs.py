"""Packed runs as processes: every strategy loses what rows of one document lose, and a run that was
cut short goes on with the same losses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.trainer.launching import launch_several, losses, worst_difference

pytestmark = pytest.mark.processes
COMMON = (
    "train.log.every=1",
    "train.checkpoint.every=0",
    "train.data.validation_fraction=0",
    "train.model.dropout=0.0",
    "train.optimizer.lr=1e-2",
    "train.schedule={warmup_steps: 1, decay_steps: 6}",
    "train.batch_size=24",
)
PACKED = {
    "ddp": ("train.strategy.name=ddp",),
    "fsdp": ("train.strategy.name=fsdp",),
    "zero1": ("train.strategy.name=deepspeed", "train.strategy.zero_stage=1"),
    "zero2": ("train.strategy.name=deepspeed", "train.strategy.zero_stage=2"),
    "zero3": ("train.strategy.name=deepspeed", "train.strategy.zero_stage=3"),
    "llama": ("train.strategy.name=fsdp", "train.model.kind=llama"),
}
PLAIN = {"plain": ("train.strategy.name=ddp",), "plain llama": ("train.model.kind=llama",)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four steps of each, the packed ones in two attempts of two."""
    pytest.importorskip("deepspeed")
    output = tmp_path_factory.mktemp("runs")
    wanted = [
        (name, (*settings, "train.data.packing=on", f"train.steps={steps}"))
        for name, settings in PACKED.items()
        for steps in (2, 4)
    ]
    wanted += [
        (name, (*settings, "train.data.packing=off", "train.steps=4"))
        for name, settings in PLAIN.items()
    ]
    ended = launch_several(
        output,
        [(name, "gpt2-elastic-smoke", (*COMMON, *settings)) for name, settings in wanted],
        2,
    )
    assert ended.code == 0, ended.text
    return output


@pytest.mark.parametrize("name", PACKED)
def test_a_packed_run_in_two_attempts_loses_what_a_plain_one_loses(name: str, runs: Path) -> None:
    found = losses(runs / name)
    wanted = losses(runs / ("plain llama" if name == "llama" else "plain"))
    assert sorted(found) == [1, 2, 3, 4] and found[4] < found[1]
    assert worst_difference(found, wanted) < 1e-5
