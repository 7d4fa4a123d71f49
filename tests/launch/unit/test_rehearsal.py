"""Rehearsals: what is made small in the processes, and what stays the guide's own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.training.rehearsal.rehearse import notes_of, own_variables
from playrunner.training.rehearsal.stages import stages_of
from playrunner.training.rehearsal.stories import STORIES, story_of
from tests.support import runner
from trainer.errors import BadInput as TrainerBadInput
from trainer.node.pod_entry import _rehearsed
from trainer.profile import read_profile
from trainer.rehearsal import rehearsal_steps, rehearsed
from trainer.validate import check

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_planned_with_its_guides_own_profile_and_nodes(name: str) -> None:
    story = STORIES[name]
    assert (ROOT / "playbooks" / f"{story.playbook}.yaml").is_file()
    stages = stages_of(story, 4, own_variables(story), keep=False)
    assert [stage.name.split()[0] for stage in stages if not stage.name.startswith("look")] == [
        "check",
        "play",
        "again",
        "teardown",
        "audit",
    ]
    play = next(stage for stage in stages if stage.name == "play")
    given = json.loads(play.words[play.words.index("--extra-vars") + 1])
    assert given["train_rehearsal_steps"] == 4 and "train_settings" not in given
    assert read_profile(story.profile).launch.nodes == story.nodes
    assert any("stand-in" in note for note in notes_of(story)), "what takes the data's place"
    kept = stages_of(story, 4, {}, keep=True)
    assert not [stage for stage in kept if stage.deletes]


def test_the_guides_region_is_rehearsed_in_and_not_the_sandboxs() -> None:
    assert own_variables(STORIES["eks-cpu"])["aws_region"] == "us-east-1"
    assert own_variables(STORIES["gke"]) == {"cluster_name": "tutorial-cluster"}


@pytest.mark.parametrize("name", sorted({story.profile for story in STORIES.values()}))
def test_only_the_arithmetic_of_a_profile_is_made_small(name: str) -> None:
    before = read_profile(name)
    world = before.launch.nodes
    after, lines = rehearsed(before, 4, world)
    check(after, world)
    was, now = before.train, after.train
    assert (after.launch, now.checkpoint, now.evaluate) == (
        before.launch,
        was.checkpoint,
        was.evaluate,
    )
    assert replace(now.data, tokenizer=was.data.tokenizer) == was.data
    assert replace(now.schedule, decay_steps=was.schedule.decay_steps) == was.schedule
    assert now.schedule.decay_steps == was.steps, "the rates are those of the whole run"
    assert (now.steps, now.device, now.precision) == (4, "cpu", "fp32")
    assert now.model.layers * now.model.width**2 <= 12 * 512**2
    assert now.batch_size <= now.device_batch_size * max(world, before.launch.max_nodes)
    assert any("4 steps in place of" in line for line in lines)


def test_grouped_heads_keep_their_ratio() -> None:
    model = rehearsed(read_profile("llama2-70b"), 4, 16)[0].train.model
    assert (model.heads, model.kv_heads) == (8, 1)


def test_pods_start_fewer_processes_than_their_arguments_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRAINER_REHEARSAL", "steps=4,processes=1")
    words = ["--nnodes=8", "--nproc_per_node=8", "-m", "trainer", "--slots=8"]
    assert _rehearsed(words) == ["--nnodes=8", "--nproc_per_node=1", "-m", "trainer", "--slots=8"]


def test_a_rehearsal_that_is_written_wrongly_is_refused() -> None:
    assert rehearsal_steps({}) == 0
    with pytest.raises(TrainerBadInput, match="steps=4"):
        rehearsal_steps({"TRAINER_REHEARSAL": "yes"})
    with pytest.raises(BadInput, match='did you mean "eks-llama"'):
        story_of("eks-lama")


def test_check_says_the_plan_and_runs_nothing(tmp_path: Path) -> None:
    done = runner.invoke("rehearse", "eks-llama-70b", "--check", "--json", state=tmp_path)
    assert done.code == 0, done.text
    assert done.data["nodes"] == 16 and "exit_code" not in done.data["stages"][0]
    assert not (tmp_path / "sandbox").exists()
