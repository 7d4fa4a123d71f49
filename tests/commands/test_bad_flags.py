"""Flags and values that cannot be: one line that says so, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runner import REPOSITORY

REFUSED = {
    "train.launch --profle x": 'there is no flag "--profle" here; did you mean "--profile"?',
    "train.launch --nodes two": '--nodes "two": it is a whole number',
    "train.logs --tail x": '--tail "x": it is a whole number',
    "train.logs --tail -3": "--tail must be 0 or more, not -3",
    "train.watch --interval soon": '--interval "soon": it is a number',
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_bad_flag_is_refused_in_one_line(words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "invoke", *words.split()],
        cwd=REPOSITORY,
        env={**os.environ, "PLAYRUNNER_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    (line,) = done.stderr.splitlines()
    assert REFUSED[words] in line
