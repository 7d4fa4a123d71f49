"""ZeRO's clipping without waiting for the GPU: what DeepSpeed's own would have done."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.trainer.launching import launch_module
from trainer.optim.deepspeed_config import rendered
from trainer.profile import read_profile

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def ranks() -> list[dict[str, Any]]:
    pytest.importorskip("deepspeed")
    ended = launch_module("tests.support.trainer.zero_clipping", processes=2)
    assert ended.code == 0, ended.text
    lines = [line for line in ended.text.splitlines() if line.startswith("FOUND ")]
    return [json.loads(line.removeprefix("FOUND ")) for line in lines]


def test_the_norm_is_that_of_all_ranks_as_deepspeed_takes_it(ranks: list[dict[str, Any]]) -> None:
    assert [rank["own"] for rank in ranks] == [[True], [True]]
    ours = {rank["finite"][0] for rank in ranks}
    assert len(ours) == 1
    for rank in ranks:
        assert rank["finite"][0] == pytest.approx(rank["finite"][1], rel=1e-5)
        assert rank["finite"][0] > 0


def test_a_norm_that_is_no_number_is_infinite_on_all_ranks(ranks: list[dict[str, Any]]) -> None:
    for rank in ranks:
        assert rank["not a number"] == [float("inf"), float("inf")]


def test_a_rank_that_holds_no_gradients_takes_part(ranks: list[dict[str, Any]]) -> None:
    assert [rank["of the first rank alone"] for rank in ranks] == [[2.0], [2.0]]


@pytest.mark.parametrize("norm", [0.25, 4.0, float("inf")])
def test_gradients_are_clipped_as_by_deepspeed(norm: float, ranks: list[dict[str, Any]]) -> None:
    ours, theirs = ranks[0][f"first at {norm}"]
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert ours == pytest.approx(-1 / max(1.0, norm), rel=1e-5)


@pytest.mark.parametrize(
    ("stage", "processes", "overlaps"), [(1, 1, False), (2, 1, False), (1, 2, True), (3, 1, True)]
)
def test_one_process_has_nothing_to_overlap(stage: int, processes: int, overlaps: bool) -> None:
    """DeepSpeed's first two stages wait for the GPU at each step where they overlap communication;
    the third gathers parameters meanwhile, on one process as well."""
    train = read_profile("gpt2-small", (f"train.strategy.zero_stage={stage}",)).train
    settings = rendered(train, processes, on_cpu=False)["zero_optimization"]
    assert settings["overlap_comm"] is overlaps
