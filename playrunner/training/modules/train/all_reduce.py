"""train.all_reduce: the bandwidth of sums over all hosts of a play, by size; every host does its
part at the same time."""

from __future__ import annotations

import os

from playrunner.hostside.module import Action, Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext


PORT = 29702  # where the ranks meet; not a training run's
_WAIT_SECONDS = 1800.0


class AllReduce(Action):
    """Bandwidth by size: the first host returns the rows and the table, in the form of nccl-tests'
    all_reduce_perf."""

    reaches_out = True

    hosts: list[str]  # everybody who takes part, in rank order
    host: str  # who this one is among them
    master: str  # the first one's address, as the others reach it
    python: str = "python3"  # an interpreter with torch
    code: str = ""  # where the trainer's code is, when it is not installed for that interpreter
    port: int = PORT  # where the ranks meet on the first host
    begin: str = "8"  # the smallest sum, as 8 or 1M
    end: str = "16M"  # the largest
    repeats: int = 5  # sums of each size
    environment: dict[str, str] = {}  # further variables, as GLOO_SOCKET_IFNAME

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        hosts = arguments.get("hosts")
        if (
            isinstance(hosts, list)
            and isinstance(arguments.get("host"), str)
            and arguments["host"] not in hosts
        ):
            return f'"{arguments["host"]}" is not one of hosts'
        return None

    def act(self, ctx: HostContext) -> dict[str, Any]:
        rank = self.hosts.index(self.host)
        place = {
            "RANK": rank,
            "LOCAL_RANK": 0,
            "WORLD_SIZE": len(self.hosts),
            "MASTER_ADDR": self.master,
            "MASTER_PORT": self.port,
            "NODE_NAME": self.host,
        }
        variables = {str(name): str(value) for name, value in {**self.environment, **place}.items()}
        if self.code:
            variables["PYTHONPATH"] = os.path.expanduser(self.code)
        command = [
            os.path.expanduser(self.python),
            "-u",
            "-m",
            "trainer.netcheck.all_reduce_perf",
            "-b",
            self.begin,
            "-e",
            self.end,
            "-n",
            str(self.repeats),
        ]
        try:
            ran = ctx.run(command, env=variables, timeout=_WAIT_SECONDS, live=True)
        except OSError as error:
            raise Failed(
                f"{self.python} cannot be run: {error.strerror}; set python to an interpreter with"
                " torch"
            ) from None
        if ran.rc:
            said = (ran.err.strip() or ran.out.strip()).splitlines()
            raise Failed(
                f"the bandwidth was not measured: {said[-1] if said else 'no word'}",
                rc=ran.rc,
                stderr=ran.err,
            )
        rows = [
            _row(line)
            for line in ran.out.splitlines()
            if line.strip() and not line.lstrip().startswith("#")
        ]
        return {
            "changed": False,
            "rows": rows,
            "stdout": ran.out,
            "wrong": sum(row["wrong"] for row in rows),
            "bus_gbytes": max([row["bus_gbytes"] for row in rows] or [0.0]),
        }


def _row(line: str) -> dict[str, Any]:
    words = line.split()
    return {
        "bytes": int(words[0]),
        "microseconds": float(words[5]),
        "bus_gbytes": float(words[7]),
        "wrong": int(words[8]),
    }
