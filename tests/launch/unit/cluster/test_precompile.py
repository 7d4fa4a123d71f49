"""train.precompile: the profile it compiles with."""

from __future__ import annotations

import pytest

from playrunner.training.kube.precompile import MOST_STEPS, shortened
from playrunner.training.request import Request, read_request
from trainer.optim.schedule import learning_rate
from trainer.profile import BUNDLED, read_profile
from trainer.validate import check


@pytest.mark.parametrize("name", sorted(path.stem for path in BUNDLED.glob("*.yaml")))
def test_every_profile_is_valid_with_the_few_steps_it_is_compiled_in(name: str) -> None:
    profile = read_request(shortened(Request(name)))
    assert profile.train.steps <= MOST_STEPS
    check(profile, profile.launch.nodes * profile.launch.processes_per_node)


@pytest.mark.parametrize("name", ["bert-large", "gpt2-micro", "llama2-7b"])
def test_the_rate_follows_the_schedule_of_the_whole_run(name: str) -> None:
    whole, few = read_profile(name).train, read_request(shortened(Request(name))).train
    assert [learning_rate(few, step) for step in range(10)] == [
        learning_rate(whole, step) for step in range(10)
    ]


def test_what_the_user_sets_is_kept() -> None:
    asked = Request("bert-large", overrides=("train.steps=3", "train.schedule.warmup_steps=2"))
    few = read_request(shortened(asked)).train
    assert (few.steps, few.schedule.decay_steps, few.schedule.warmup_steps) == (3, 3, 2)
