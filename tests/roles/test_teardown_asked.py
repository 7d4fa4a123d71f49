"""teardown as it is typed: at a terminal it asks and does what it is told; without one it shows the
plan and what to type."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

from tests.support.aws.cli import Operator
from tests.support.aws.sandbox import PretendAws
from tests.support.runner import REPOSITORY

PATIENCE_SECONDS = 240
QUESTION = b"[y/N]"


def answered(answer: str, inventory: Path, home: Path) -> tuple[int, str]:
    """`invoke teardown` at a terminal whose user gives this answer: its exit code, and everything
    that was on the screen."""
    user, end = pty.openpty()
    environment = {**os.environ, "PLAYRUNNER_STATE_HOME": str(home), "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-m", "invoke", "teardown", "--inventory", str(inventory)],
        cwd=REPOSITORY,
        env=environment,
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
    )
    os.close(end)
    seen, deadline = b"", time.monotonic() + PATIENCE_SECONDS
    try:
        while time.monotonic() < deadline:
            try:
                data = os.read(user, 4096)
            except OSError:  # its last user is gone
                break
            before = seen.count(QUESTION)
            seen += data
            if seen.count(QUESTION) > before:
                os.write(user, f"{answer}\n".encode())
        return process.wait(30), seen.decode()
    finally:
        process.kill()
        os.close(user)


def test_it_asks_at_a_terminal_and_says_what_to_type_without_one(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    operator = Operator(aws, tmp_path, (str(inventory),))
    assert "failed" not in operator.results("network.create").values()
    ec2 = aws.client("ec2")
    vpcs = len(ec2.describe_vpcs()["Vpcs"])

    unasked = operator.invoke("teardown")
    assert unasked.code == 5 and "network vpc" in unasked.out
    assert "there is no terminal to ask on; use --yes, or --check for the plan only" in unasked.err

    for answer in ("n", ""):
        code, screen = answered(answer, inventory, tmp_path / "state")
        assert code == 130 and "nothing was deleted" in screen, screen
    assert len(ec2.describe_vpcs()["Vpcs"]) == vpcs

    code, screen = answered("y", inventory, tmp_path / "state")
    assert code == 0, screen
    assert screen.count("[y/N]") == 1 and "nothing is left" in screen
    assert len(ec2.describe_vpcs()["Vpcs"]) == vpcs - 1
