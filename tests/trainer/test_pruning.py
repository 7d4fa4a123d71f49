"""Pruning and setting aside: what a run keeps is what it can resume from."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.trainer.launching import (
    kill_after,
    launch,
    start,
    steps_saved,
    wait_for_step,
)
from tests.trainer.test_checkpoint import ALONE, saved, write_two_files
from trainer.checkpoint.checkpoint import Checkpoints
from trainer.config import Checkpoint

SMALL = (
    "train.model.layers=1",
    "train.log.every=1",
    "train.data.validation_fraction=0",
    "train.schedule.warmup_steps=1",
    "train.schedule.decay_steps=100",
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("step-*"))


def truncate(checkpoint: Path, name: str = "two.bin") -> None:
    (checkpoint / name).write_bytes((checkpoint / name).read_bytes()[:10])


def resumed(folder: Path, *steps: int, **settings: object) -> tuple[Path | None, Checkpoints]:
    """A later process on the same folder: what it resumes from, after it saved more steps."""
    checkpoints = Checkpoints(folder, Checkpoint(**settings), ALONE)  # type: ignore[arg-type]
    begun = checkpoints.find()
    for step in steps:
        checkpoints.save(step, write_two_files, {"step": step})
    checkpoints.wait()
    return begun, checkpoints


def test_a_fresh_start_beside_higher_steps_of_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    saved(tmp_path, 20, 40, 60, 80, 100, keep=2)
    begun, _ = resumed(tmp_path, 20, 40, 60, keep=2, resume="never")
    assert begun is None
    assert names(tmp_path) == ["step-00000040", "step-00000060"]
    assert resumed(tmp_path, keep=2)[0] == tmp_path / "step-00000060"


def test_a_fresh_start_moves_the_old_ones_aside_and_deletes_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path, 80, 100, keep=2)
    resumed(tmp_path, 20, resume="never")
    aside = sorted(path.name for path in (tmp_path / "set-aside").glob("*/step-*"))
    assert aside == ["step-00000080", "step-00000100"]
    assert "set-aside" in capsys.readouterr().err


def test_damaged_ones_are_not_kept_in_place_of_new_ones(tmp_path: Path) -> None:
    saved(tmp_path, 80, 100, keep=2)
    for name in names(tmp_path):
        truncate(tmp_path / name)
    begun, _ = resumed(tmp_path, 20, 40, 60, keep=2)
    assert begun is None
    assert names(tmp_path) == ["step-00000040", "step-00000060"]


def test_a_damaged_newest_one_does_not_push_out_the_one_resumed_from(tmp_path: Path) -> None:
    saved(tmp_path, 120, 140, 142, keep=3)
    truncate(tmp_path / "step-00000142")
    begun, _ = resumed(tmp_path, 141, keep=2)
    assert begun == tmp_path / "step-00000140"
    assert names(tmp_path) == ["step-00000140", "step-00000141"]


def test_an_older_damaged_one_is_not_counted_among_those_kept(tmp_path: Path) -> None:
    saved(tmp_path, 40, 60, 80, keep=3)
    truncate(tmp_path / "step-00000060")
    resumed(tmp_path, 100, keep=3)
    assert {"step-00000040", "step-00000080", "step-00000100"} <= set(names(tmp_path))


def test_one_damaged_while_the_run_goes_on_is_not_counted_either(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 20, 40, keep=2)
    truncate(tmp_path / "step-00000040")
    checkpoints.save(60, write_two_files, {"step": 60})
    checkpoints.wait()
    assert {"step-00000020", "step-00000060"} <= set(names(tmp_path))


def test_going_back_to_an_earlier_one_sets_the_later_ones_aside(tmp_path: Path) -> None:
    saved(tmp_path, 20, 40, 60, 80, keep=0)
    resumed(tmp_path, 45, keep=2, resume=str(tmp_path / "step-00000040"))
    assert names(tmp_path) == ["step-00000040", "step-00000045"]
    assert len(list((tmp_path / "set-aside").glob("*/step-*"))) == 2


def test_a_restart_of_the_same_launch_resumes_though_it_began_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path, 80, 100)
    monkeypatch.setenv("TRAINER_LAUNCH", "launch-7")
    resumed(tmp_path, 20, 40, resume="never")
    assert resumed(tmp_path, resume="never")[0] == tmp_path / "step-00000040"
    monkeypatch.setenv("TRAINER_LAUNCH", "launch-8")
    assert resumed(tmp_path, resume="never")[0] is None


def test_a_whole_one_that_only_lacked_its_final_name_is_resumed_from(tmp_path: Path) -> None:
    saved(tmp_path, 20, 40)
    (tmp_path / "step-00000040").rename(tmp_path / ".step-00000040.partial")
    assert resumed(tmp_path)[0] == tmp_path / "step-00000040"


def test_what_was_resumed_and_what_was_passed_over_is_said_in_one_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path, 20, 40)
    truncate(tmp_path / "step-00000040")
    resumed(tmp_path)
    lines = [
        line for line in capsys.readouterr().err.splitlines() if line.startswith("checkpoint: ")
    ]
    assert any("step-00000040" in line and "two.bin has 10 bytes" in line for line in lines)
    assert any("resuming from step-00000020" in line for line in lines)


@pytest.mark.processes
@pytest.mark.parametrize("optimizer", ["adamw", "lamb", "sgd"])
def test_a_run_killed_before_its_second_checkpoint_resumes_from_step_0(
    tmp_path: Path, optimizer: str
) -> None:
    settings = (
        *SMALL,
        f"train.optimizer.name={optimizer}",
        "train.checkpoint.at_start=true",
        "train.checkpoint.every=0",
    )
    (process,) = start("gpt2-micro-smoke", tmp_path, *settings, "train.steps=4000")
    wait_for_step(tmp_path, 2, process)
    kill_after([process], tmp_path, checkpoint=0)  # which is written while training goes on
    assert steps_saved(tmp_path) == [0]
    ended = launch("gpt2-micro-smoke", tmp_path, *settings, "train.steps=3")
    assert ended.code == 0, ended.text
    assert "resuming from step-00000000" in ended.text


@pytest.mark.processes
def test_a_run_begun_again_from_nothing_and_killed_resumes_where_it_was(tmp_path: Path) -> None:
    settings = (*SMALL, "train.checkpoint.every=5", "train.checkpoint.keep=2")
    assert launch("gpt2-micro-smoke", tmp_path, *settings, "train.steps=30").code == 0
    (process,) = start(
        "gpt2-micro-smoke",
        tmp_path,
        *settings,
        "train.steps=4000",
        "train.checkpoint.resume=never",
    )
    wait_for_step(tmp_path, 17, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    newest = max(steps_saved(tmp_path))
    assert newest >= 10 and len(steps_saved(tmp_path)) <= 3
    ended = launch("gpt2-micro-smoke", tmp_path, *settings, f"train.steps={newest + 1}")
    assert ended.code == 0 and f"resuming from step-{newest:08d}" in ended.text, ended.text
