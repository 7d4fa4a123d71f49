"""train.logs: what a run's processes print, from the nodes themselves."""

from __future__ import annotations

import sys
from typing import Any

from playrunner.errors import BadInput
from playrunner.fleet import Fleet
from playrunner.options import Options
from roles.training.follow import Follower, in_shell
from roles.training.plan import open_fleet
from roles.training.runs import Run
from roles.training.selection import the_run

_MOST_BYTES = 1 << 20  # of a log's end, to find the last lines of one rank in


def show_logs(options: Options, name: str, rank: int, host: str, *, everything: bool, follow: bool, tail: int) -> int:
    with open_fleet(options) as fleet:
        run = the_run(fleet, options, name)
        nodes = _chosen(run, rank, host, everything)
        prefix = "" if everything or host else f"[{rank}] "
        for node in nodes:
            text = _read(fleet, run, node)
            lines = [line for line in text.splitlines() if line.startswith(prefix)][-tail:] if tail else []
            for line in lines:
                _print(line, node["host"] if everything else "", prefix)
        if follow:
            ears = Printing(prefix, everything)
            Follower(fleet, run.job, ears, hosts=[node["host"] for node in nodes], renew=False, offsets=run.log_bytes).follow()
    return 0


class Printing:
    """Lines go to standard output as they come."""

    def __init__(self, prefix: str, named: bool) -> None:
        self.prefix, self.named = prefix, named

    def log(self, host: str, text: str) -> None:
        for line in text.splitlines():
            if line.startswith(self.prefix):
                _print(line, host if self.named else "", self.prefix)

    def metrics(self, text: str, again: bool) -> None:
        pass

    def gate(self, result: dict[str, Any]) -> bool:
        return False  # whoever launched it decides

    def say(self, text: str) -> None:
        sys.stderr.write(text + "\n")

    def idle(self) -> None:
        pass


def _chosen(run: Run, rank: int, host: str, everything: bool) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = run.job["nodes"]
    if everything:
        return nodes
    if host:
        found = [node for node in nodes if node["host"] == host]
        if not found:
            raise BadInput(f"{run.name} has no node {host}; it runs on {', '.join(run.hosts)}")
        return found
    found = [node for node in nodes if node["first_rank"] <= rank < node["first_rank"] + node["slots"]]
    if not found:
        raise BadInput(f"{run.name} has ranks 0 to {run.job['world_size'] - 1}, no {rank}")
    return found


def _read(fleet: Fleet, run: Run, node: dict[str, Any]) -> str:
    path = f"{node['root']}/runs/{run.name}/nodes/{node['host']}/log"
    channel = fleet.start(node["host"], f"tail -c {_MOST_BYTES} {in_shell(path)}")
    parts = []
    while data := channel.receive():
        parts.append(data)
    channel.close()
    return b"".join(parts).decode(errors="replace")


def _print(line: str, host: str, prefix: str) -> None:
    sys.stdout.write((f"{host} " if host else "") + line.removeprefix(prefix) + "\n")
    sys.stdout.flush()
