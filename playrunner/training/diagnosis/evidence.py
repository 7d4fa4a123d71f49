"""Evidence: all that is known of a run at one moment, and what may follow from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any

from playrunner.frozen import frozen
from playrunner.project import program

_RANKED = re.compile(r"\[(\d+)(?:-\d+)?\] ")
COMPUTES = 0.05  # cores: a process below this over a second only waits


@frozen
class Cause:
    """What may be behind it, how sure that is (0 to 100), what speaks for it and against it, and
    what to do next."""

    score: int
    title: str
    evidence: tuple[str, ...] = ()
    next_command: str = ""
    against: tuple[str, ...] = ()  # what speaks against it


@frozen
class Rank:
    """A process that trains, as its node sees it."""

    number: int
    host: str
    process: Mapping[str, Any]

    @property
    def place(self) -> str:
        return f"rank {self.number} on {self.host}"

    @property
    def computes(self) -> bool:
        return bool(self.process.get("cores", 0) >= COMPUTES)

    @property
    def pulse(self) -> Mapping[str, Any]:
        """Where it stood last by its own word: step, phase, collective, for how many seconds; empty
        when it never said."""
        return self.process.get("pulse") or {}

    @property
    def step(self) -> int:
        return int(self.pulse.get("step", -1))

    @property
    def meets(self) -> str:
        """The collective it is in, as torch numbers it where it is known; nothing when it is in
        none."""
        opened = self.pulse.get("open") or ()
        if opened:
            return f"{opened[0].get('name')} #{opened[0].get('number')}"
        return str(self.pulse.get("collective") or "")

    @property
    def stands(self) -> str:
        """Where it is, in words; nothing when it never said."""
        if not self.pulse:
            return ""
        where = (
            f"in {self.meets} ({self.pulse['phase']})"
            if self.meets
            else f"at {self.pulse['phase']}"
        )
        return f"step {self.step}, {where} for {self.pulse.get('seconds', 0):.0f} s"

    @property
    def stack(self) -> Sequence[str]:
        return self.process.get("stack") or ()


@frozen
class Facts:
    """What is known of a run at one moment. Nothing here was guessed."""

    name: str
    state: str  # one word for all nodes, as train.status says it
    job: Mapping[str, Any]
    now: float
    supervisors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by host
    nodes: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict
    )  # train.vitals of those that answered
    silent: Mapping[str, str] = field(default_factory=dict)  # those that did not, with why
    metrics: Sequence[Mapping[str, Any]] = ()
    checkpoints: Sequence[str] = ()
    preflight: Sequence[str] = ()  # what would prevent a launch now
    network: Sequence[str] = ()  # what the gate found wrong before the run began

    @property
    def going_on(self) -> bool:
        return self.state in ("running", "stopping")

    @property
    def age(self) -> float:
        return max(0.0, self.now - float(self.job.get("created", self.now)))

    @property
    def world_size(self) -> int:
        return int(self.job.get("world_size", 0))

    @property
    def places(self) -> list[dict[str, Any]]:
        """The nodes as the job names them: host, root, python, first_rank, slots."""
        return list(self.job.get("nodes", ()))

    @property
    def first_node(self) -> Mapping[str, Any]:
        """What the node says that writes the metrics."""
        return self.nodes.get(self.places[0]["host"], {}) if self.places else {}

    @property
    def resume(self) -> str:
        return f"{program()} train.resume --name {self.name}"

    @property
    def smaller_batch(self) -> str:
        """The command that goes on with less memory; a script's own argument only it knows."""
        if self.job.get("script"):
            return f"{self.resume} -- the script's own argument for a smaller batch"
        return f"{self.resume} --set train.device_batch_size=N (half of what it was)"

    @cached_property
    def failure(self) -> Mapping[str, Any]:
        """What the nodes hold to be the cause: node, kind, what, code, tail; empty when nothing
        failed."""
        failures = (said["cause"] for said in self.supervisors.values() if said.get("cause"))
        return next(failures, {})

    @cached_property
    def ranks(self) -> list[Rank]:
        rank_records = [
            Rank(int(process["rank"]), host, process)
            for host, said in self.nodes.items()
            for process in said.get("processes", ())
            if process.get("rank") is not None
        ]
        return sorted(rank_records, key=lambda rank: rank.number)

    @cached_property
    def missing_ranks(self) -> list[str]:
        """Ranks without a process on a node that answers."""
        there = {rank.number for rank in self.ranks}
        return [
            f"rank {number} on {node['host']}"
            for node in self.places
            if node["host"] in self.nodes
            for number in range(node["first_rank"], node["first_rank"] + node["slots"])
            if number not in there
        ]

    @cached_property
    def usual_gap(self) -> float:
        """Seconds from one line of metrics to the next, as it usually is; 0 when that is not known
        yet."""
        times = [float(each["time"]) for each in self.metrics if each.get("time")]
        gaps = [after - before for before, after in pairwise(times) if after > before]
        return (
            median(gaps)
            if gaps
            else float(self.metrics[-1].get("step_seconds") or 0)
            if self.metrics
            else 0.0
        )

    @property
    def silence(self) -> float:
        """Seconds since the last step was written down, by the clock of the node that writes it."""
        now = float(self.first_node.get("time", self.now))
        return (
            max(0.0, now - float(self.metrics[-1]["time"]))
            if self.metrics and self.metrics[-1].get("time")
            else self.age
        )

    @property
    def step(self) -> int:
        return int(self.metrics[-1]["step"]) if self.metrics else 0

    def said(self) -> Iterator[tuple[str, str]]:
        """Every line of output at hand with its node, the failed node's last words first."""
        failed = str(self.failure.get("node", ""))
        for line in self.failure.get("tail", ()):
            yield failed, line
        for host in sorted(self.nodes, key=lambda host: host != failed):
            for line in self.nodes[host].get("log", ()):
                yield host, line
            for line in str(self.nodes[host].get("supervisor_err") or "").splitlines():
                yield host, f"[node] {line}"

    def logs(self, host: str, line: str = "") -> str:
        """The command that shows what was said there, around this line."""
        ranked = _RANKED.match(line)
        where = f"--rank {ranked.group(1)}" if ranked else f"--host {host}"
        return f"{program()} train.logs --name {self.name} {where} --tail 100"


def quoted(host: str, line: str, width: int = 220) -> str:
    """A line of output as evidence."""
    text = f"{host}: {line.strip()}"
    return text if len(text) <= width else text[: width - 3] + "..."


def listed(names: Sequence[str], most: int = 4) -> str:
    return (
        ", ".join(names)
        if len(names) <= most
        else f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    )
