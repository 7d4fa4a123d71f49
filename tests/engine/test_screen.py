"""What a person at a terminal sees while a run goes on."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time

from tests.support.runner import REPOSITORY, Stage


def watched(stage: Stage, playbook: str) -> str:
    """Everything a run writes to a terminal."""
    screen, end = pty.openpty()
    environment = {
        **os.environ,
        "PLAYRUNNER_STATE_HOME": str(stage.state),
        "TERM": "xterm",
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    words = ["play", str(stage.write(playbook)), "--inventory", str(stage.inventory)]
    process = subprocess.Popen(
        [sys.executable, "-m", "invoke", *words],
        cwd=REPOSITORY,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=end,
        stderr=end,
    )
    os.close(end)
    seen = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            data = os.read(screen, 4096)
        except OSError:  # the terminal is closed when its last user is gone
            break
        if not data:
            break
        seen += data
    os.close(screen)
    assert process.wait(30) == 0, seen.decode()
    return seen.decode()


def test_a_live_line_tells_what_is_being_done_and_goes_away_again(stage: Stage) -> None:
    seen = watched(
        stage,
        """
- hosts: node1
  gather_facts: false
  tasks:
    - {name: the slow one, shell: "sleep 0.5"}
    - {name: sent ahead, ping: }
""",
    )
    live = [part for part in seen.split("\r") if "the slow one (" in part]
    assert live, "the step that runs was never named"
    assert "sent ahead (0s)" not in seen.partition("the slow one (")[0]
    assert "\033[K" in seen
    assert re.fullmatch(r"slowest: the slow one on node1 [\d.]+s", seen.rstrip().splitlines()[-1])


def test_long_output_is_shown_while_it_comes_with_its_host_before_it(stage: Stage) -> None:
    seen = watched(
        stage,
        """
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: talks, shell: "sleep 1.2; echo halfway; sleep 0.6; echo done"}
""",
    )
    before_the_result = seen.partition("changed ")[0]
    assert "node1 | halfway" in before_the_result and "node2 | halfway" in before_the_result
