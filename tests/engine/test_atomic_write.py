"""Files written whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import stat
from pathlib import Path

import pytest

from playrunner.text import atomic_write


def test_a_file_has_the_mode_it_was_given_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        atomic_write.write_text(tmp_path / "shared", "x", mode=0o644)
        atomic_write.write_text(tmp_path / "private", "x")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"shared": 0o644, "private": 0o600}


def test_a_write_that_fails_leaves_the_old_content_and_no_scratch_file(tmp_path: Path) -> None:
    file = tmp_path / "record"
    file.write_text("old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        with pytest.raises(OSError):
            atomic_write.write_bytes(file, b"x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["record"]
