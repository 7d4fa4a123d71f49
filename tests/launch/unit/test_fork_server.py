"""Processes of one machine that load together: one loads for all, and each keeps its own place,
output, exit code and end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.until import until

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 60.0
# Loading takes a while, so that the others come meanwhile; whoever loaded says so.
PROGRAM = """
import os, sys, time
from trainer.netcheck.fork_server import run_forked

def load():
    open(os.environ["LOADED"], "a").write("loaded\\n")
    time.sleep(1)

def work():
    print(os.environ["RANK"], os.getcwd(), sys.argv[1], flush=True)
    print("complaint", os.environ["RANK"], file=sys.stderr)
    if sys.argv[1] == "stay":
        time.sleep(600)
    return int(sys.argv[1])

os._exit(run_forked(load, work))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")


class Machine:
    def __init__(self, folder: Path) -> None:
        self.folder, self.loaded = folder, folder / "loaded"
        self.started: list[subprocess.Popen[str]] = []
        (folder / "program.py").write_text(PROGRAM)

    def start(self, rank: int, word: str, **variables: str) -> subprocess.Popen[str]:
        own = self.folder / f"rank{rank}"
        own.mkdir()
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RANK": str(rank),
            "LOADED": str(self.loaded),
            "MASTER_ADDR": str(self.folder),
            **variables,
        }
        self.started.append(
            subprocess.Popen(
                [sys.executable, str(self.folder / "program.py"), word],
                cwd=own,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return self.started[-1]

    @property
    def loads(self) -> int:
        return len(self.loaded.read_text().splitlines()) if self.loaded.exists() else 0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_one_loads_and_each_has_its_own_place_output_and_exit_code(machine: Machine) -> None:
    ranks = [machine.start(rank, str(rank + 3)) for rank in range(5)]
    said = [process.communicate(timeout=PATIENCE_SECONDS) for process in ranks]
    assert [process.returncode for process in ranks] == [3, 4, 5, 6, 7], said
    assert [out for out, _ in said] == [
        f"{rank} {machine.folder}/rank{rank} {rank + 3}\n" for rank in range(5)
    ]
    assert [err for _, err in said] == [f"complaint {rank}\n" for rank in range(5)]
    assert machine.loads == 1


def test_those_who_would_load_otherwise_do_not_share(machine: Machine) -> None:
    ranks = [machine.start(rank, "0", OMP_NUM_THREADS=str(rank + 1)) for rank in range(2)]
    assert [process.wait(PATIENCE_SECONDS) for process in ranks] == [0, 0]
    assert machine.loads == 2


def test_who_is_killed_takes_only_its_own_work_with_it(machine: Machine) -> None:
    first, second, third = (machine.start(rank, "stay") for rank in range(3))
    try:
        for process in (first, second, third):
            assert process.stdout
            process.stdout.readline()  # it works now
        second.send_signal(signal.SIGKILL)
        until(lambda: len(_workers(machine)) == 2)
        assert first.poll() is None and third.poll() is None
        for process in (first, third):
            process.kill()
        until(lambda: not _workers(machine))
    finally:
        for process in (first, second, third):
            process.kill()
            process.communicate()


def test_a_socket_of_that_name_that_does_not_answer_is_done_without(machine: Machine) -> None:
    first = machine.start(0, "stay")
    try:
        assert first.stdout
        first.stdout.readline()
        os.kill(first.pid, signal.SIGSTOP)  # it holds the socket, and forks nobody
        late = machine.start(1, "4", PLAYRUNNER_LOAD_SECONDS="1")
        assert late.wait(PATIENCE_SECONDS * 2) == 4
        assert machine.loads == 2
    finally:
        first.kill()
        first.communicate()


def _workers(machine: Machine) -> list[int]:
    """Processes of this program that work in a rank's folder and did not start there."""
    found = []
    starters = {process.pid for process in machine.started}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (
                int(folder.name) not in starters
                and Path(os.readlink(folder / "cwd")).parent == machine.folder
                and (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
            ):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def test_rank_0_gives_every_rank_the_same_decision_and_then_stops_listening() -> None:
    from trainer.netcheck.decision_port import DecisionServer, ask, free_port

    port = free_port("127.0.0.1")
    server = DecisionServer("127.0.0.1", port, "open", 2)
    stray = socket.create_connection(("127.0.0.1", port))
    stray.sendall(b"hello\n")
    assert [ask("127.0.0.1", port, rank, 20) for rank in (1, 2)] == ["open", "open"]
    stray.close()
    server.close(20)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5)
    assert ask("127.0.0.1", port, 1, 0.3) == ""
