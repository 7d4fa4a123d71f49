"""A rank's pulse: what it writes is what its node reads, also when it can say nothing any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from playrunner.training.modules.train._pulse import pulse
from trainer.distributed.progress_file import ProgressFile

ROOT = Path(__file__).parents[3]


def test_a_rank_that_is_stopped_has_said_where_it_stands(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from trainer.distributed.progress_file import"
        " ProgressFile\nmine = ProgressFile(Path(sys.argv[1])); mine.at('data', 41);"
        " mine.at('count'); mine.enter('all_reduce')\nprint('there', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "rank-3"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as rank:
        assert rank.stdout and rank.stdout.readline() == b"there\n"
        rank.send_signal(signal.SIGSTOP)
        found = pulse(str(tmp_path / "rank-3"), rank.pid)
        rank.send_signal(signal.SIGCONT)
        rank.kill()
    assert (found["step"], found["phase"], found["collective"], found["open"]) == (
        41,
        "count",
        "all_reduce",
        [],
    )
    assert 0 <= found["seconds"] < 60


def test_a_collective_is_left_again_and_a_phase_keeps_its_step(tmp_path: Path) -> None:
    mine = ProgressFile(tmp_path / "rank-0")
    mine.at("data", 7)
    mine.enter("broadcast")
    mine.leave()
    found = pulse(str(tmp_path / "rank-0"), os.getpid())
    assert (found["step"], found["phase"], found["collective"]) == (7, "data", "")


def test_what_another_process_left_behind_is_not_believed(tmp_path: Path) -> None:
    ProgressFile(tmp_path / "rank-0").at("data", 7)
    assert pulse(str(tmp_path / "rank-0"), os.getpid() + 1) == {}
    assert pulse(str(tmp_path / "none"), os.getpid()) == {}


def test_a_pulse_that_cannot_be_written_down_costs_nothing_but_itself(tmp_path: Path) -> None:
    ProgressFile(tmp_path / "no" / "folder").at("forward", 3)
    ProgressFile().at("forward", 3)
