"""A disk that fills up while a checkpoint is written."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.trainer.launching import launch, steps_saved
from trainer.checkpoint.write_error import write_error
from trainer.errors import BadInput

SETTINGS = (
    "train.steps=40",
    "train.checkpoint.every=2",
    "train.evaluate.batches=1",
    "train.log.every=1",
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "small", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.processes
@pytest.mark.parametrize(("strategy", "processes"), [("ddp", 1), ("ddp", 2), ("deepspeed", 1)])
def test_a_run_ends_with_the_disks_own_words(
    small_disk: Path, strategy: str, processes: int
) -> None:
    if strategy == "deepspeed":
        pytest.importorskip("deepspeed")
    ended = launch(
        "gpt2-micro-smoke",
        small_disk / "run",
        *SETTINGS,
        "train.checkpoint.keep=100",
        f"train.strategy.name={strategy}",
        processes=processes,
    )
    assert ended.code == 1, ended.text
    last = ended.text.strip().splitlines()[-1]
    assert last.startswith(f"trainer: {small_disk}/run/"), ended.text  # a checkpoint or metrics
    assert last.endswith(f"cannot be written: {os.strerror(errno.ENOSPC)}"), ended.text
    assert steps_saved(small_disk / "run")


def test_the_cause_is_found_behind_other_errors(tmp_path: Path) -> None:
    try:
        try:
            raise OSError(errno.EDQUOT, "over quota")
        except OSError:
            raise RuntimeError("unexpected pos 704 vs 598")  # noqa: B904
    except RuntimeError as error:
        assert str(write_error(error, tmp_path)).endswith(os.strerror(errno.EDQUOT))


def test_an_error_that_no_disk_caused_stays_as_it_is(tmp_path: Path) -> None:
    defect, refused = KeyError("step"), BadInput("a message of its own")
    assert write_error(defect, tmp_path) is defect
    assert write_error(refused, tmp_path) is refused
    assert not list(tmp_path.iterdir())
