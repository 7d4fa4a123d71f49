"""A lock that processes share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.text.file_lock import file_lock

HOLDER = """
import sys
from pathlib import Path
from playrunner.text.file_lock import file_lock
with file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@pytest.fixture
def holder(lock: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout and running.stdout.readline() == "held\n"
        yield running
        running.kill()


def test_what_another_process_holds_is_refused_or_waited_for(
    holder: subprocess.Popen[str], lock: Path
) -> None:
    with pytest.raises(BlockingIOError), file_lock(lock, wait=False):
        pass
    waiting = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with waiting:
        assert holder.stdin and waiting.stdout
        holder.stdin.close()
        assert waiting.stdout.readline() == b"held\n"
        assert holder.wait(10) == 0


def test_one_whose_holder_was_killed_is_free(holder: subprocess.Popen[str], lock: Path) -> None:
    holder.kill()
    holder.wait()
    with file_lock(lock, wait=False):
        assert lock.exists()


def test_the_threads_of_a_process_exclude_each_other_as_well(lock: Path) -> None:
    with file_lock(lock), pytest.raises(BlockingIOError), file_lock(lock, wait=False):
        pass


def test_a_link_is_not_followed(lock: Path, tmp_path: Path) -> None:
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), file_lock(lock):
        pass
    assert not (tmp_path / "elsewhere").exists()
