"""The pages of the program itself: --help, --list and --version."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runner import REPOSITORY

PLAYRUNNER = [sys.executable, "-m", "playrunner"]
INVOKE = [sys.executable, "-m", "invoke"]
# Invoke itself prints `--help` and `--version` before it reads a tasks.py.
PAGES = [
    *([*PLAYRUNNER, *page] for page in (["--help"], ["--version"], ["--list"], ["--help", "play"])),
    *([*INVOKE, *page] for page in (["--list"], ["--help", "play"], ["play", "--help"])),
]
LIST_RATIO = 1.25  # the promise is 1.10, which `make bench` checks; this leaves room for a busy CPU
REPEATS = 5


@pytest.mark.parametrize("command", PAGES, ids=lambda command: " ".join(command[2:]))
def test_a_reader_that_leaves_early_ends_a_page_quietly(command: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, stdout=write, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(write)
    assert done.returncode == 0 and done.stderr == ""


def test_a_list_of_verbs_takes_little_more_than_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("")
    _cpu_seconds(REPOSITORY)  # compiles what has changed
    bare = min(_cpu_seconds(tmp_path) for _ in range(REPEATS))
    ours = min(_cpu_seconds(REPOSITORY) for _ in range(REPEATS))
    assert ours <= LIST_RATIO * bare


def _cpu_seconds(folder: Path) -> float:
    """What `invoke --list` takes in a folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*INVOKE, "--list"], cwd=folder, env=kept, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
