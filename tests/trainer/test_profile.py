"""Profiles: inheritance, overrides and complaints."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from trainer.config import Train
from trainer.errors import BadInput
from trainer.profile import BUNDLED, from_plain, read_profile
from trainer.validate import accumulation, check

NAMES = sorted(path.stem for path in BUNDLED.glob("*.yaml"))


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", NAMES)
def test_every_bundled_profile_adds_up_on_the_processes_it_asks_for(name: str) -> None:
    profile = read_profile(name)
    check(profile, profile.launch.nodes * profile.launch.processes_per_node)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("-smoke")])
def test_every_profile_has_a_smoke_sibling_for_one_process(name: str) -> None:
    smoke = read_profile(f"{name}-smoke")
    assert smoke.launch.nodes * smoke.launch.processes_per_node == 1
    assert smoke.train.model.kind == read_profile(name).train.model.kind
    assert smoke.launch.resources == {}


def test_a_child_changes_only_what_it_mentions(tmp_path: Path) -> None:
    write(
        tmp_path,
        "parent.yaml",
        "train: {steps: 7, model: {width: 64, heads: 2}}\nlaunch: {nodes: 3}",
    )
    child = read_profile(
        write(tmp_path, "child.yaml", "inherit: parent\ntrain: {model: {width: 128}}")
    )
    assert (
        child.train.steps,
        child.train.model.width,
        child.train.model.heads,
        child.launch.nodes,
    ) == (7, 128, 2, 3)


def test_the_last_of_several_parents_wins(tmp_path: Path) -> None:
    write(tmp_path, "one.yaml", "train: {steps: 1, seed: 1}")
    write(tmp_path, "two.yaml", "train: {steps: 2}")
    both = read_profile(write(tmp_path, "both.yaml", "inherit: [one, two]"))
    assert (both.train.steps, both.train.seed) == (2, 1)


def test_a_dotted_override_wins_over_the_file() -> None:
    train = read_profile(
        "gpt2-micro",
        ["train.steps=100", "train.optimizer.lr=3e-4", "train.optimizer.betas=[0.8, 0.9]"],
    ).train
    assert (train.steps, train.optimizer.lr, train.optimizer.betas) == (100, 3e-4, (0.8, 0.9))


def test_an_unknown_key_is_refused_with_file_line_and_nearest_name(tmp_path: Path) -> None:
    path = write(tmp_path, "bad.yaml", "train:\n  steps: 5\n  modle: {width: 3}\n")
    with pytest.raises(
        BadInput, match=r'bad\.yaml:3: there is no setting "train\.modle"; did you mean "model"\?'
    ):
        read_profile(path)


def test_an_unknown_key_in_a_parent_names_the_parent(tmp_path: Path) -> None:
    write(tmp_path, "parent.yaml", "train:\n  model:\n    widht: 3\n")
    with pytest.raises(
        BadInput, match=r'parent\.yaml:3: .*"train\.model\.widht"; did you mean "width"'
    ):
        read_profile(write(tmp_path, "child.yaml", "inherit: parent\n"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("train: {steps: many}", "train.steps is a whole number, not 'many'"),
        ("train: {steps: 1.5}", "train.steps is a whole number, not 1.5"),
        ("train: {precision: bf17}", "train.precision is one of fp32, bf16"),
        ("train: {optimizer: {betas: [0.9]}}", "takes 2 values, not 1"),
        ("train: {model: 3}", "train.model is a group of settings, not 3"),
        ("train: {log: {tensorboard: 1}}", "train.log.tensorboard is true or false, not 1"),
        ("train: ]", "not valid YAML"),
    ],
)
def test_a_wrong_value_is_refused_in_words(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_profile(write(tmp_path, "bad.yaml", text))
    assert complaint in str(caught.value)
    assert "bad.yaml:1" in str(caught.value)


def test_a_profile_that_inherits_from_itself_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "one.yaml", "inherit: two")
    with pytest.raises(BadInput, match="inherits from itself"):
        read_profile(write(tmp_path, "two.yaml", "inherit: one"))


def test_an_unknown_profile_suggests_a_known_one() -> None:
    with pytest.raises(BadInput, match='did you mean "gpt2-micro"'):
        read_profile("gpt2-mirco")


def test_a_profile_survives_the_way_through_a_checkpoint() -> None:
    profile = read_profile("gpt2-micro")
    assert from_plain(asdict(profile)) == profile


def test_accumulation_makes_up_the_effective_batch() -> None:
    assert accumulation(Train(batch_size=512, device_batch_size=4), world_size=16) == 8


def test_a_batch_the_processes_cannot_make_up_is_refused_with_the_numbers() -> None:
    with pytest.raises(
        BadInput,
        match=(
            r"batch_size 32 .* device_batch_size 4 x 16 processes = 64; set train.batch_size to 64"
        ),
    ):
        accumulation(Train(batch_size=32, device_batch_size=4), world_size=16)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("train.model.heads=5", "model.width 64 is not a multiple of model.heads 5"),
        ("train.data.sequence=100", "data.sequence 100 is longer than model.context 64"),
        ("train.checkpoint.schedule=[[2, 10], [4, 10]]", "must be larger than the one before"),
        ("train.strategy.zero_offload=parameters", "needs zero_stage 3"),
        ("train.schedule.warmup_steps=1000", "warmup_steps 1000 is more than"),
    ],
)
def test_contradictions_are_found_before_anything_starts(setting: str, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        check(read_profile("gpt2-micro-smoke", [setting]), 1)
