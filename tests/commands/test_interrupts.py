"""Ctrl-C in the moment in which a command is still loading."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runner import REPOSITORY

INTERRUPTED_WHILE_LOADING = """
import os, signal
os.kill(os.getpid(), signal.SIGINT)
"""
RUNS_TO_ITS_INTERRUPT = """
import os, signal
from playrunner.commands.flags import verb

@verb()
def wait(context, flags):
    \"\"\"Wait for Ctrl-C.\"\"\"
    os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.fixture(params=["invoke", "playrunner"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    (tmp_path / "roles" / "slow").mkdir(parents=True)
    (tmp_path / "tasks.py").write_text((REPOSITORY / "tasks.py").read_text())
    return [sys.executable, "-m", str(request.param)]


def run(program: list[str], folder: Path, verbs: str) -> subprocess.CompletedProcess[str]:
    (folder / "roles" / "slow" / "verbs.py").write_text(verbs)
    return subprocess.run(
        [*program, "slow.wait"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_ctrl_c_while_verbs_are_loaded_ends_the_process_by_the_signal(
    program: list[str], tmp_path: Path
) -> None:
    ended = run(program, tmp_path, INTERRUPTED_WHILE_LOADING)
    # What a shell has as 130; Invoke alone would end with 1, as for a failed command
    assert (ended.returncode, ended.stdout + ended.stderr) == (-signal.SIGINT, "")


def test_ctrl_c_while_a_verb_runs_is_for_the_verb_to_end(
    program: list[str], tmp_path: Path
) -> None:
    ended = run(program, tmp_path, RUNS_TO_ITS_INTERRUPT)
    assert (ended.returncode, ended.stdout + ended.stderr) == (130, "")
