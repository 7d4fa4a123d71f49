"""deepspeed.json beside a run: the guides' own fields, from the profile alone."""

from __future__ import annotations

from trainer.optim.deepspeed_config import rendered, written
from trainer.profile import read_profile


def test_the_file_has_the_guides_schedule_and_offloading() -> None:
    train = read_profile("gpt2-micro").train
    file = written(train, 16, on_cpu=False)
    assert file["scheduler"] == {
        "type": "WarmupDecayLR",
        "params": {
            "total_num_steps": 400_000,
            "warmup_min_lr": 0.0,
            "warmup_max_lr": 6e-4,
            "warmup_num_steps": 4000,
            "warmup_type": "log",
        },
    }
    assert file["zero_optimization"]["cpu_offload"] is False
    assert file["optimizer"]["params"]["betas"] == [0.9, 0.95]


def test_the_engine_gets_no_schedule_of_its_own() -> None:
    """The loop sets the rate; an engine with a schedule would set it again."""
    assert "scheduler" not in rendered(read_profile("gpt2-micro").train, 16, on_cpu=False)


def test_a_schedule_that_deepspeed_does_not_have_is_left_out() -> None:
    assert "scheduler" not in written(read_profile("llama2-7b").train, 64, on_cpu=False)


def test_deepspeed_does_not_wait_for_the_device_to_time_itself() -> None:
    from deepspeed.utils.config import get_timers_config

    config = rendered(read_profile("gpt2-micro").train, 16, on_cpu=False)
    assert not get_timers_config(config).enabled
