"""Elastic runs keep their batch on any number of processes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.trainer.launching import launch, losses, worst_difference
from trainer.errors import BadInput
from trainer.profile import read_profile
from trainer.validate import check, rounds


@pytest.mark.parametrize("processes", range(1, 9))
def test_the_elastic_guide_s_profile_holds_on_every_number_of_nodes_it_allows(
    processes: int,
) -> None:
    profile = read_profile("gpt2-elastic")
    check(profile, processes)
    micro_batches = range(profile.train.batch_size // profile.train.device_batch_size)
    shares = [len(micro_batches[rank::processes]) for rank in range(processes)]
    assert sum(shares) * profile.train.device_batch_size == profile.train.batch_size
    assert max(shares) == rounds(profile.train, processes) and min(shares) >= max(shares) - 1


@pytest.mark.parametrize(
    ("settings", "processes"),
    [
        (("launch.min_nodes=0",), 7),
        (("train.strategy.name=deepspeed", "train.optimizer.betas=[0.9, 0.95]"), 7),
        (("train.batch_size=1201",), 1),
        (("train.batch_size=21",), 8),
    ],
)
def test_what_cannot_be_shared_is_refused_with_the_numbers(
    settings: tuple[str, ...], processes: int
) -> None:
    with pytest.raises(BadInput, match=r"is not a multiple of device_batch_size 3 x"):
        check(read_profile("gpt2-elastic", settings), processes)


@pytest.mark.processes
@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_three_processes_go_on_from_step_0_of_one_and_lose_the_same(
    strategy: str, tmp_path: Path
) -> None:
    """Four micro-batches of texts of different lengths: rank 0 takes two, the others one each."""
    settings = (
        "train.steps=3",
        "train.log.every=1",
        "train.model.dropout=0.1",
        "train.data.validation_fraction=0",
        "train.checkpoint.at_start=true",
        f"train.strategy.name={strategy}",
    )
    alone = launch("gpt2-elastic-smoke", tmp_path / "alone", *settings)
    assert alone.code == 0, alone.text
    beginning = Path("checkpoints") / "step-00000000"
    shutil.copytree(tmp_path / "alone" / beginning, tmp_path / "three" / beginning)
    three = launch("gpt2-elastic-smoke", tmp_path / "three", *settings, processes=3)
    assert three.code == 0, three.text
    assert "resuming from step-00000000" in three.text
    assert worst_difference(losses(tmp_path / "three"), losses(tmp_path / "alone")) < 1e-4
