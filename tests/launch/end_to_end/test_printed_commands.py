"""What the training verbs print as the next command works as it is printed, from any folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.launch.site import PATIENCE_SECONDS, Site

FAILS_ONCE = """
import os, sys
from playrunner import metrics
metrics.log(1, loss=2.5)
if not os.path.exists("tried"):
    open("tried", "w").close()
    sys.exit(3)
"""
_COMMAND = re.compile(r"\bplayrunner train\.\w+(?: --?[a-z][\w-]*(?: [^\s;()]+)?)*")
_BAD = {1: "a defect", 4: "unreachable", 5: "bad input", 102: "no such run"}


def test_every_command_that_a_launch_and_its_end_print_runs_from_another_folder(
    site: Site, tmp_path: Path
) -> None:
    (tmp_path / "flaky.py").write_text(FAILS_ONCE)
    words = f"train.launch --script {tmp_path}/flaky.py --name flaky --nodes 1"
    words += " --launcher direct --set launch.max_restarts=0"
    words += f" --notify 'echo $PLAYRUNNER_EVENT, $PLAYRUNNER_TEXT >> {tmp_path}/told'"
    waiting, ran = [f"playrunner {words}"], dict[str, str]()
    while waiting:
        command = waiting.pop(0)
        ran[command] = _run(command, site)
        for printed in _COMMAND.findall(ran[command]):
            if printed not in ran and printed not in waiting:
                waiting.append(printed)
    first = next(iter(ran.values()))
    assert re.search(r"^checked 1 node \(\d+\.\d s\)$", first, re.M), first
    assert re.search(r"^code synced, \d+\.\d MB; started \(\d+\.\d s\)$", first, re.M), first
    assert "PLAY" not in first and "run folder" not in first, "its steps are in the record alone"
    assert "it ended at step 1, loss 2.5000; it has no checkpoint; it goes on with:" in first
    assert (tmp_path / "told").read_text() == "failed, flaky failed at step 1\n"
    names = {command.split()[1] for command in ran}
    assert {"train.why", "train.resume", "train.status", "train.logs"} <= names, sorted(ran)


def _run(command: str, site: Site) -> str:
    """As a shell does that knows the program, in a folder that has nothing to do with it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd="/",
        text=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        env={**os.environ, "PATH": path, "PLAYRUNNER_STATE_HOME": str(site.state), "NO_COLOR": "1"},
    )
    assert done.returncode not in _BAD, f"{command}: {done.returncode} {done.stdout}{done.stderr}"
    return done.stdout + done.stderr
