"""Learning rates and checkpoint steps, against the values the guides print."""

from __future__ import annotations

import pytest

from trainer.config import Checkpoint, Optimizer, Schedule, Train
from trainer.optim.schedule import due, learning_rate, phase
from trainer.profile import read_profile


def test_log_warmup_gives_the_printed_rate_of_step_150_with_17_skipped() -> None:
    train = Train(
        steps=400_000,
        optimizer=Optimizer(lr=6e-4),
        schedule=Schedule(name="log-warmup", warmup_steps=4000),
    )
    assert learning_rate(train, 150 - 17) == pytest.approx(0.0003537728376673855, rel=1e-14)


def test_cosine_gives_the_printed_rate_after_980_steps() -> None:
    train = read_profile("llama2-7b").train
    assert learning_rate(train, 980) == pytest.approx(9.1105e-05, rel=1e-4)
    assert f"{learning_rate(train, 980):.6f}" == "0.000091"


def test_linear_warmup_gives_the_printed_rates_of_steps_14_to_16() -> None:
    train = read_profile("bert-large").train
    assert [f"{learning_rate(train, step):.2e}" for step in (14, 15, 16)] == [
        "2.80e-06",
        "3.00e-06",
        "3.20e-06",
    ]


def test_linear_ends_at_nothing_and_cosine_never_falls_below_its_floor() -> None:
    assert learning_rate(Train(steps=100), 100) == 0.0
    floor = Train(steps=100, schedule=Schedule(name="cosine", min_lr=1e-5))
    assert learning_rate(floor, 100) == 1e-5


def test_each_step_belongs_to_a_phase_of_the_schedule() -> None:
    train = Train(steps=100, schedule=Schedule(name="cosine", warmup_steps=10, decay_steps=50))
    assert [phase(train, step) for step in (0, 9, 10, 49, 50)] == [
        "warm-up",
        "warm-up",
        "decay",
        "decay",
        "floor",
    ]
    assert phase(Train(steps=100, schedule=Schedule(name="constant")), 99) == "constant"


@pytest.mark.parametrize("name", ["linear", "cosine", "constant", "exponential", "log-warmup"])
def test_every_schedule_peaks_when_the_warmup_ends(name: str) -> None:
    train = Train(
        steps=1000, optimizer=Optimizer(lr=1.0), schedule=Schedule(name=name, warmup_steps=100)
    )
    rates = [learning_rate(train, step) for step in range(1000)]
    assert max(rates) == rates[100] == pytest.approx(1.0)


def test_the_tutorial_schedule_saves_612_times_in_400_000_steps() -> None:
    train = read_profile("gpt2-micro").train
    saves = [step for step in range(1, 400_001) if due(train, step)]
    assert len(saves) == 612
    assert saves[:7] == [2, 4, 6, 8, 10, 20, 30] and saves[
        saves.index(100) : saves.index(100) + 3
    ] == [100, 150, 200]
    assert saves[saves.index(2000) + 1] == 2100


def test_a_plain_interval_saves_every_so_often_and_zero_never() -> None:
    assert [step for step in range(1, 10) if due(Train(checkpoint=Checkpoint(every=4)), step)] == [
        4,
        8,
    ]
    assert not any(due(Train(checkpoint=Checkpoint(every=0)), step) for step in range(1, 10))
