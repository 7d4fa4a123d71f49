"""When an agent sends its answers: those to short steps together, none later than a moment."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.agent import TOGETHER_SECONDS
from playrunner.playbook import module_index
from playrunner.project import CODE
from playrunner.ssh.agent_code import code_frame


@pytest.fixture
def agent() -> Iterator[subprocess.Popen[bytes]]:
    """An agent that has the code of two modules and is sent a step at a time."""
    program = [sys.executable, "-IS", str(CODE / "playrunner/hostside/agent.py")]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        yield process
        process.kill()


def _frames(steps: list[tuple[str, dict[str, Any]]]) -> bytes:
    sent = [json.dumps({"op": "limits", "beat": 30.0}).encode() + b"\n"]
    loaded: set[str] = set()
    for number, (module, arguments) in enumerate(steps, 1):
        path = module_index.import_path(module)
        if path not in loaded:
            sent.append(code_frame(path, frozenset(loaded)))
            loaded.update(name for name, _ in module_index.sources(path))
        name = module_index.module_class(module).__name__
        frame = {"op": "run", "id": number, "module": path, "class": name, "epoch": 0}
        sent.append(json.dumps({**frame, "args": arguments}).encode() + b"\n")
    return b"".join(sent)


def _pieces(process: subprocess.Popen[bytes], answers: int, seconds: float = 20.0) -> list[bytes]:
    """What arrives until so many answers are there, as it was written."""
    assert process.stdout
    pieces: list[bytes] = []
    while b"".join(pieces).count(b"\n") < answers:
        assert select.select([process.stdout], [], [], seconds)[0], "no answer in time"
        piece = os.read(process.stdout.fileno(), 1 << 20)
        if not piece:
            break
        pieces.append(piece)
    return pieces


def test_answers_to_short_steps_arrive_together_and_in_order(
    agent: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    assert agent.stdin
    steps = [("host.file", {"path": str(tmp_path), "state": "directory"})] * 50
    agent.stdin.write(_frames(steps))
    pieces = _pieces(agent, 50)
    assert [json.loads(line)["id"] for line in b"".join(pieces).splitlines()] == [*range(1, 51)]
    assert len(pieces) < 25


def test_an_answer_does_not_wait_for_a_step_that_takes_long(
    agent: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    assert agent.stdin
    short = ("host.file", {"path": str(tmp_path), "state": "directory"})
    # It runs no program, and listens to nobody
    long = ("host.wait_for", {"timeout": 30})
    agent.stdin.write(_frames([short, long, short]))
    began = time.monotonic()
    assert json.loads(_pieces(agent, 1)[0])["id"] == 1
    assert time.monotonic() - began < 10 + TOGETHER_SECONDS


def test_answers_are_sent_before_a_program_that_ends_the_agent(
    agent: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    assert agent.stdin
    short = ("host.file", {"path": str(tmp_path), "state": "directory"})
    steps = [short, short, ("host.shell", {"cmd": "kill -KILL $PPID"}), short]
    agent.stdin.write(_frames(steps))
    pieces = _pieces(agent, 4)
    assert [json.loads(line)["id"] for line in b"".join(pieces).splitlines()] == [1, 2]
