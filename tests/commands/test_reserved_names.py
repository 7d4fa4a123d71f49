"""Variables with names of Ansible's own: the warnings are those of ansible-core, in its order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "reserved_names"
PROGRAM = "playrunner.commands.ansible_programs.playbook"
EXTRA = ("-e", "strategy=1", "-e", '{"omit": 3}')


def _printed(state: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", PROGRAM, "-i", "inv.ini", *words],
        cwd=FOLDER,
        env={**os.environ, "XDG_STATE_HOME": str(state), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.replace(str(FOLDER), "<folder>")


def test_all_of_the_output_is_that_of_ansible(tmp_path: Path) -> None:
    assert _printed(tmp_path, "p.yml", *EXTRA) == (FOLDER / "expected.txt").read_text()


@pytest.mark.parametrize("flag", ["--syntax-check", "--list-tasks"])
def test_what_runs_nothing_warns_too(tmp_path: Path, flag: str) -> None:
    expected = FOLDER / f"expected{flag}.txt"
    assert _printed(tmp_path, "p.yml", *EXTRA, flag) == expected.read_text()


def test_the_native_report_names_the_place_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "playrunner", "play", "p.yml", "--inventory", "inv.ini"],
        cwd=FOLDER,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    warned = [line for line in done.stderr.splitlines() if "'hosts'" in line]
    assert [line.partition("p.yml")[2] for line in warned] == [
        ":4: Found variable using reserved name 'hosts'.",
        ":30: Found variable using reserved name 'hosts'.",
    ]
