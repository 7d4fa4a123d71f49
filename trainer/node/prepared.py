"""Ranks prepared while their launch is still checked and staged: interpreters that import what they
will need and wait.

`python -m trainer.node.prepared RUN-FOLDER HOST` is a node's supervisor, started ahead. The first
line of its input is what the ranks will be started with, as far as it is known; the second says
that the launch has been staged. Input that ends before, or does not come, ends it and its ranks:
they have opened no device, and have written nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from trainer.node import processes

WAIT_SECONDS = 60  # for the launch to be staged; by then a rank is started as quickly
# What is read after torch is imported, when the ranks meet
LATE = frozenset({"MASTER_PORT", "TRAINER_GATE_PORT", "TRAINER_KEEPS"})


class PreparedRanks:
    """Those of one node; each is used once, by a start that it fits."""

    def __init__(self) -> None:
        self.waiting: list[_Prepared] = []

    def prepare(self, order: dict[str, Any], node: Path) -> None:
        for command in order["commands"]:
            given = {**order["environment"], **command["environment"]}
            environment = rank_environment(given, order, node)
            self.waiting.append(_Prepared(command["argv"], environment, order["code"]))

    def start(
        self, argv: list[str], folder: Path, environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        """A process of the run: a prepared one that fits, else a new one."""
        for prepared in self.waiting:
            if prepared.fits(argv, environment):
                self.waiting.remove(prepared)
                if prepared.begin(argv, folder, environment):
                    return prepared.process
                break
        return processes.start(argv, folder, environment)

    def end(self) -> None:
        """End those that no start fitted."""
        for prepared in self.waiting:
            prepared.process.kill()
            prepared.process.wait()
        self.waiting = []


class _Prepared:
    def __init__(self, argv: list[str], environment: dict[str, str], folder: str) -> None:
        self.program, self.environment = _program(argv), environment
        self.process = processes.start(
            [*self.program[:-1], "trainer.node.prepared_rank", *argv[len(self.program) - 1 :]],
            Path(folder),
            environment,
            stdin=subprocess.PIPE,
        )

    def fits(self, argv: list[str], environment: dict[str, str]) -> bool:
        """Whether it can become this process: what is read before and while torch is imported is
        the same."""
        mine = self.environment
        different = {
            name for name in {*mine, *environment} if mine.get(name) != environment.get(name)
        }
        return _program(argv) == self.program and different <= LATE

    def begin(self, argv: list[str], folder: Path, environment: dict[str, str]) -> bool:
        """Have it go on as the process itself; False where it has ended."""
        late = {name: environment[name] for name in LATE if name in environment}
        words = argv[len(self.program) :]
        order = {"arguments": words, "folder": str(folder), "environment": late}
        pipe = self.process.stdin
        assert pipe
        try:
            if self.process.poll() is not None:
                return False
            pipe.write(json.dumps(order).encode() + b"\n")
            pipe.close()
        except OSError:
            return False
        return True


def rank_environment(given: dict[str, str], config: dict[str, Any], node: Path) -> dict[str, str]:
    """The variables of a process of a run, on the node whose folder this is."""
    own = {processes.MARK: f"{config['run_id']}/{node.name}", "TRAINER_TOKEN": config["token"]}
    return {**os.environ, **given, **own, "TRAINER_NODE": str(node)}


def _program(argv: list[str]) -> list[str]:
    """The interpreter, its options and the module that it runs."""
    return argv[: argv.index("-m") + 2]


def main() -> int:
    signal.alarm(WAIT_SECONDS)  # ends it, and that its ranks
    run, host = Path(sys.argv[1]), sys.argv[2]
    prepared = PreparedRanks()
    prepared.prepare(json.loads(sys.stdin.buffer.readline()), run / "nodes" / host)
    from trainer.node import supervisor  # while the ranks import

    if not sys.stdin.buffer.readline():
        prepared.end()
        return 0
    signal.alarm(0)
    os.chdir(run)
    for number, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, run / "nodes" / host / "supervisor.err", os.O_WRONLY | os.O_CREAT),
    ):
        opened = os.open(name, flags, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    os.dup2(1, 2)
    return supervisor.main(prepared)


if __name__ == "__main__":
    sys.exit(main())
