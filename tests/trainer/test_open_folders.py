"""Folders of a claim opened for the images' user: only those named, only root's, and only once."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from trainer.staging.open_folders import main

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")


def test_folders_of_root_are_given_to_the_user_and_what_is_in_them_is_left_alone(
    tmp_path: Path,
) -> None:
    runs, note = tmp_path / "claim" / "runs", tmp_path / "note"
    (runs / "old").mkdir(parents=True)
    data = tmp_path / "claim" / "MNIST"
    words = ["--user", "1000", "--note", str(note), str(runs), str(data)]
    assert main(words) == 0
    assert json.loads(note.read_text()) == [str(runs), str(data)]
    owners = [path.stat().st_uid for path in (runs, data, runs / "old", tmp_path / "claim")]
    assert owners == [1000, 1000, 0, 0]
    assert main(words) == 0
    assert json.loads(note.read_text()) == []


def test_a_folder_of_another_user_stays_theirs(tmp_path: Path) -> None:
    theirs = tmp_path / "runs"
    theirs.mkdir()
    os.chown(theirs, 2000, 2000)
    assert main(["--user", "1000", str(theirs)]) == 0
    assert theirs.stat().st_uid == 2000


def test_the_images_user_says_what_it_cannot_write(capfd: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # seen by all, written by root alone
        child = os.fork()
        if not child:
            os.setuid(1000)
            os._exit(main(["--verify", folder]))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        assert f"{folder} cannot be written by user 1000" in capfd.readouterr().out
