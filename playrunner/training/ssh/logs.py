"""train.logs: what a run's processes print, from the nodes themselves."""

from __future__ import annotations

import json
import sys
from typing import Any

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.text.streams import stop_unless_read
from playrunner.training.node_shell import in_shell
from playrunner.training.runs.run import Run
from playrunner.training.ssh.following.follow import Follower
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.nodes.selection import the_run

_MOST_BYTES = 1 << 20  # of a log's end, to find the last lines of one rank in


def show_logs(
    options: Options, name: str, rank: int, host: str, *, everything: bool, follow: bool, tail: int
) -> int:
    with open_fleet(options) as fleet:
        run = the_run(fleet, options, name)
        nodes = chosen_nodes(run, rank, host, everything)
        printer = LogPrinter("" if everything or host else f"[{rank}] ", everything, options.json)
        for node in nodes:
            lines = [
                line
                for line in _read(fleet, run, node).splitlines()
                if line.startswith(printer.prefix)
            ]
            printer.log(node["host"], "\n".join(lines[-tail:] if tail else []))
        if follow:
            Follower(
                fleet,
                run.job,
                printer,
                hosts=[node["host"] for node in nodes],
                renew=False,
                offsets=run.log_bytes,
            ).follow()
    return 0


class LogPrinter:
    """Lines go to standard output as they come; as JSON, each is an object of its own, since a log
    has no end to wait for."""

    def __init__(self, prefix: str, named: bool, as_json: bool = False) -> None:
        self.prefix, self.named, self.as_json = prefix, named, as_json

    def log(self, host: str, text: str) -> None:
        for line in text.splitlines():
            if line.startswith(self.prefix):
                sys.stdout.write(self._shown(host, line) + "\n")
        sys.stdout.flush()
        stop_unless_read()

    def metrics(self, text: str, again: bool) -> None:
        pass

    def gate(self, result: dict[str, Any]) -> bool:
        return False  # the launching command decides

    def say(self, text: str) -> None:
        sys.stderr.write(text + "\n")

    def idle(self) -> None:
        pass

    def _shown(self, host: str, line: str) -> str:
        if not self.as_json:
            return (f"{host} " if self.named else "") + line.removeprefix(self.prefix)
        who, _, text = line.partition("] ")
        return json.dumps({"host": host, "from": who.removeprefix("["), "text": text})


def chosen_nodes(run: Run, rank: int, host: str, everything: bool) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = run.job["nodes"]
    if everything:
        return nodes
    if host:
        chosen = [node for node in nodes if node["host"] == host]
        if not chosen:
            raise BadInput(f"{run.name} has no node {host}; it runs on {', '.join(run.hosts)}")
        return chosen
    chosen = [
        node for node in nodes if node["first_rank"] <= rank < node["first_rank"] + node["slots"]
    ]
    if not chosen:
        raise BadInput(f"{run.name} has ranks 0 to {run.job['world_size'] - 1}, no {rank}")
    return chosen


def _read(fleet: Fleet, run: Run, node: dict[str, Any]) -> str:
    path = f"{node['root']}/runs/{run.name}/nodes/{node['host']}/log"
    channel = fleet.start(node["host"], f"tail -c {_MOST_BYTES} {in_shell(path)}")
    parts = []
    while data := channel.receive():
        parts.append(data)
    channel.close()
    return b"".join(parts).decode(errors="replace")
