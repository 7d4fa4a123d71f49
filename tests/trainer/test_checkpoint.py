"""Checkpoints: whole or not there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from trainer.checkpoint.checkpoint import Checkpoints, read_state
from trainer.checkpoint.manifest import MARKER, damage
from trainer.config import Checkpoint
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import BadInput

ALONE = ProcessGroup(0, 0, 1, 1, torch.device("cpu"), grouped=False)


def write_two_files(folder: Path) -> Callable[[], None]:
    def finish() -> None:
        (folder / "one.bin").write_bytes(b"1" * 1000)
        (folder / "two.bin").write_bytes(b"2" * 2000)

    return finish


def saved(folder: Path, *steps: int, **settings: object) -> Checkpoints:
    checkpoints = Checkpoints(folder, Checkpoint(**settings), ALONE)  # type: ignore[arg-type]
    for step in steps:
        checkpoints.save(step, write_two_files, {"step": step})
    checkpoints.wait()
    return checkpoints


def test_the_newest_is_found_and_knows_its_step(tmp_path: Path) -> None:
    found = saved(tmp_path, 5, 10).find()
    assert found == tmp_path / "step-00000010" and read_state(found)["step"] == 10


def test_only_the_newest_few_are_kept(tmp_path: Path) -> None:
    saved(tmp_path, 1, 2, 3, 4, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000003", "step-00000004"]


@pytest.mark.parametrize("name", ["one.bin", "two.bin", "state.json", MARKER])
@pytest.mark.parametrize("how", ["missing", "shorter", "empty"])
def test_one_cut_short_at_any_file_is_passed_over_with_a_reason(
    tmp_path: Path, name: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints = saved(tmp_path, 5, 10)
    victim = tmp_path / "step-00000010" / name
    if how == "missing":
        victim.unlink()
    else:
        victim.write_bytes(victim.read_bytes()[:-1] if how == "shorter" else b"")
    assert checkpoints.find() == tmp_path / "step-00000005"
    assert "step-00000010: passed over" in capsys.readouterr().err


def test_a_flipped_bit_is_seen(tmp_path: Path) -> None:
    saved(tmp_path, 5)
    (tmp_path / "step-00000005" / "one.bin").write_bytes(b"1" * 500 + b"3" + b"1" * 499)
    assert damage(tmp_path / "step-00000005") == "one.bin is damaged: its checksum differs"


def test_an_unfinished_one_is_never_found_and_is_cleared_away(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5)
    shutil.copytree(tmp_path / "step-00000005", tmp_path / ".step-00000009.partial")
    assert checkpoints.find() == tmp_path / "step-00000005"
    assert not (tmp_path / ".step-00000009.partial").exists()


def test_a_failure_while_writing_reaches_the_training_thread(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, Checkpoint(), ALONE)

    def fail() -> None:
        raise OSError("disk full")

    checkpoints.save(1, lambda _: fail, {"step": 1})
    with pytest.raises(OSError, match="disk full"):
        checkpoints.wait()
    assert checkpoints.find() is None


def test_one_that_was_asked_for_must_be_whole(tmp_path: Path) -> None:
    saved(tmp_path, 5)
    (tmp_path / "step-00000005" / "two.bin").unlink()
    with pytest.raises(BadInput, match=r"two\.bin is missing"):
        Checkpoints(tmp_path, Checkpoint(resume=str(tmp_path / "step-00000005")), ALONE).find()
