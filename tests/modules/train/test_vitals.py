"""train.vitals: a run's processes and its node, looked at as they are."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.training.modules.train import _processes, vitals
from playrunner.training.modules.train.vitals import Vitals
from tests.support.host.performing import done

MARK = "micro-1/node1"
SLEEPS = "import sys; print('up', flush=True); sys.stdin.read()"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A run's folder on a node, whose supervisor is gone."""
    own = tmp_path / "runs" / "micro" / "nodes" / "node1"
    own.mkdir(parents=True)
    (own / "supervisor.json").write_text(json.dumps({"state": "failed", "mark": MARK}))
    return own


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts programs that carry the run's mark, and ends them."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(code: str = SLEEPS, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PLAYRUNNER_RUN": MARK, **environment},
        )
        started.append(process)
        assert process.stdout and process.stdout.readline() == b"up\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def look(node: Path, **arguments: Any) -> dict[str, Any]:
    root = str(node.parents[3])
    return done(
        Vitals(
            root=root,
            host="node1",
            run="micro",
            seconds=arguments.pop("seconds", 0.05),
            **arguments,
        )
    )


def test_a_rank_is_told_from_its_launcher_and_from_what_it_starts(
    node: Path, start: Callable[..., Any]
) -> None:
    start()
    inner = "import subprocess, sys; subprocess.run([sys.executable, '-c', " + repr(SLEEPS) + "])"
    outer = start(inner, RANK="3")
    found = look(node)["processes"]
    assert len(found) == 3
    assert [(each["rank"], each["pid"]) for each in found if each["rank"] is not None] == [
        (3, outer.pid)
    ]


def test_a_busy_process_and_a_sleeping_one_and_a_suspended_one(
    node: Path, start: Callable[..., Any]
) -> None:
    start("print('up', flush=True)\nwhile True: pass", RANK="0")
    start(RANK="1")
    os.kill(start(RANK="2").pid, signal.SIGSTOP)
    busy, asleep, suspended = look(node, seconds=0.5)["processes"]
    assert busy["state"] == "R" and busy["cores"] > 0.02
    assert asleep["state"] == "S" and asleep["cores"] == 0
    assert suspended["state"] == "T"
    assert asleep["threads"] == 1 and asleep["rss_mib"] > 1


def test_a_call_that_nobody_answers_is_seen() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        address = deaf.getsockname()
        waiting = []
        for _ in range(4):  # a full queue: the kernel leaves further calls unanswered
            caller = socket.socket()
            caller.setblocking(False)
            caller.connect_ex(address)
            waiting.append(caller)
        found = _processes.described(os.getpid())
        for caller in waiting:
            caller.close()
    assert found and found["connecting"] == [f"127.0.0.1:{address[1]}"]
    assert found["sockets"] >= 5


def test_the_log_is_that_of_this_life_alone(node: Path) -> None:
    lines = [
        "[0] an error of before",
        "[node] 10:00:00 failed: node1: rank 0 ended with code 1",
        "[0] step 1",
        "[0] step 2",
        "[node] 10:05:00 stopped: asked to stop",
    ]
    (node / "log").write_text("\n".join(lines) + "\n")
    assert look(node)["log"] == lines[2:]
    (node / "supervisor.json").write_text(json.dumps({"state": "lost", "mark": MARK}))
    (node / "log").write_text("\n".join(lines[:4]) + "\n")
    assert look(node)["log"] == lines[2:4]
    assert look(node, lines=1)["log"] == lines[3:4]


def test_the_machine_tells_its_cores_memory_and_disk(node: Path) -> None:
    found = look(node)
    assert found["cores"] >= 1 and found["load"] >= 0
    assert 0 < found["memory"]["available_mib"] <= found["memory"]["total_mib"]
    assert found["disk"]["free_mib"] > 0
    assert 0 <= found["use"]["busy"] <= 1
    assert isinstance(found["kernel"]["lines"], list)


def test_somebody_elses_work_is_named_and_the_runs_own_is_not(start: Callable[..., Any]) -> None:
    own = start(PLAYRUNNER_RUN="micro-1/node2")  # another node of the same run, on the same machine
    stranger, idle = start(PLAYRUNNER_RUN=""), start(PLAYRUNNER_RUN="")
    found = vitals.strangers({own.pid: 1.0, stranger.pid: 0.9, idle.pid: 0.1}, MARK)
    assert [(each["pid"], each["cores"]) for each in found] == [(stranger.pid, 0.9)]


@pytest.mark.skipif(
    not shutil.which(
        "py-spy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ),
    reason="there is no py-spy",
)
def test_a_stack_shows_where_the_main_thread_is(node: Path, start: Callable[..., Any]) -> None:
    start(
        "import sys\ndef waits_here():\n    print('up', flush=True)\n   "
        " sys.stdin.read()\nwaits_here()",
        RANK="0",
    )
    (found,) = look(node, python=sys.executable)["processes"]
    if found.get("no_stack"):
        pytest.skip(found["no_stack"])  # a login that may not look into its processes
    assert any(frame.startswith("waits_here ") for frame in found["stack"])


def test_looking_at_a_run_that_is_not_there_finds_nothing(tmp_path: Path) -> None:
    found = done(Vitals(root=str(tmp_path), host="node1", run="none", seconds=0.01))
    assert found["processes"] == [] and found["log"] == [] and found["supervisor"] == {}


def test_a_run_that_version_0_1_started_is_still_seen(node: Path) -> None:
    (node / "supervisor.json").rename(node / "keeper.json")
    assert look(node)["supervisor"] == {"state": "failed", "mark": MARK}
