"""`python -m benchmarks.fleet.training`: what a launch and a status cost on 10 to 1,000 simulated
nodes, phase by phase, and how each phase grows."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.fleet.fleet import Fleet, fleet_of
from playrunner.options import Options
from playrunner.training.request import Request, read_request
from playrunner.training.screen.runs_table import as_json
from playrunner.training.ssh.commands import hostfile
from playrunner.training.ssh.job import Job
from playrunner.training.ssh.nodes import preflight
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.nodes.selection import the_run
from playrunner.training.ssh.plan import plan
from playrunner.training.ssh.steps import steps_for
from trainer.netcheck.connectivity import probed
from trainer.netcheck.findings import Expected
from trainer.netcheck.pairing import repeat_rounds
from trainer.netcheck.search import most_rounds, next_round
from trainer.netcheck.verdict import judge

SIZES = (10, 100, 300, 1000)
REQUEST = Request("gpt2-micro-smoke", name="many", launcher="direct")
DEVICE_BATCH = 4  # of that profile
ROUND_TRIP_MS = 20.0


@dataclass(frozen=True)
class Phase:
    name: str
    nodes: int
    wall: float
    cpu: float
    noted: str = ""  # what else there is to count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--nodes", type=lambda text: sorted(map(int, text.split(","))), default=SIZES
    )
    parser.add_argument("--rtt", type=float, default=ROUND_TRIP_MS, help="milliseconds")
    asked = parser.parse_args()
    print(
        f"{os.cpu_count()} cores that the nodes share, load {os.getloadavg()[0]:.1f} before;"
        f" {asked.rtt:g} ms\n"
    )
    phases: list[Phase] = []
    with fleet_of(max(asked.nodes)) as served, _state():
        served.round_trip(asked.rtt)
        for nodes in asked.nodes:
            phases += _measured(served, nodes)
            print(f"{nodes} nodes are done", file=sys.stderr, flush=True)
    print(table(phases))
    return 0


def _measured(served: Fleet, nodes: int) -> Iterator[Phase]:
    stage = served.stage.of_size(nodes)
    own = {"train_root": "{{ scratch }}", "train_python": sys.executable}
    options = Options(inventory=(str(stage.inventory),), extra_vars=(json.dumps(own),))
    with open_fleet(options) as fleet:
        fitting = f"train.batch_size={nodes * DEVICE_BATCH}"
        request = replace(REQUEST, nodes=nodes, overrides=(fitting,))
        profile = read_request(request)
        for node in stage.nodes:
            shutil.rmtree(node.scratch, ignore_errors=True)
            node.scratch.mkdir(parents=True)
        began = _now()
        job = plan(request, profile, fleet, options)
        yield Phase("plan", nodes, *_since(began))
        began = _now()
        text = hostfile(job)
        yield Phase("hostfile", nodes, *_since(began), f"{len(text) / 1024:.1f} KiB")
        began = _now()
        facts = preflight.look(fleet, job)
        found = preflight.complaints(preflight.with_free_ports(job, facts), facts)
        if found:
            raise SystemExit("\n".join(found[:5]))
        yield Phase("preflight", nodes, *_since(began))
        began = _now()
        summary, jobs = steps_for(job, facts, (), "token")
        yield Phase("steps", nodes, *_since(began), _bytes_of(jobs))
        yield _gate(job)
        _pretend_running(job, summary)
        began = _now()
        run = the_run(fleet, options, job.name)
        told = json.dumps(as_json(run))
        if len(as_json(run)["nodes"]) != nodes or "unknown" in told:
            raise SystemExit(f"the status of {nodes} nodes is not whole: {told[:500]}")
        yield Phase("status", nodes, *_since(began))


def _gate(job: Job) -> Phase:
    """The pairs that are measured and the verdict on them, on figures that are made up: one node
    is slow, and must be named."""
    hosts = [node.host for node in job.nodes]
    slow = len(hosts) // 3
    began = _now()
    measured: dict[tuple[int, int], dict[str, Any]] = {}
    ranks, done = list(range(len(hosts))), 0

    def take(pairs: list[tuple[int, int]]) -> None:
        for a, b in pairs:
            gbps = 0.2 if slow in (a, b) else 10.0 + (a * 7 + b * 3) % 5
            measured[a, b] = {"gbps": gbps, "latency_us": 60.0 + (a + b) % 9, "bytes": 1 << 20}

    while done < most_rounds(len(ranks)) and (pairs := next_round(ranks, measured)):
        take(pairs)
        done += 1
    for pairs in repeat_rounds(measured):
        take(pairs)
    told = [{"a": hosts[a], "b": hosts[b], **each} for (a, b), each in sorted(measured.items())]
    verdict = judge({"nodes": hosts, "pairs": told, "backend": "gloo"}, Expected(None, None))
    if verdict.culprits != (hosts[slow],):
        raise SystemExit(f"the slow node is not named: {verdict}")
    links = sum(len(probed(rank, ranks)) for rank in ranks)
    noted = f"{done} rounds, {len(measured)} pairs, {links} probes"
    return Phase("gate", len(hosts), *_since(began), noted)


def _pretend_running(job: Job, summary: dict[str, Any]) -> None:
    """What a run leaves on its nodes: `this process` is the supervisor of all."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    said = {
        "state": "running",
        "pid": os.getpid(),
        "boot": boot,
        "started": fields[19],
        "machine": os.uname().nodename,
        "time": time.time(),
        "mark": job.run_id,
    }
    for node in job.nodes:
        folder = Path(job.folder(node))
        own = folder / "nodes" / node.host
        own.mkdir(parents=True)
        (own / "supervisor.json").write_text(json.dumps(said))
        (folder / "run.json").write_text(json.dumps(summary, indent=1))
        (folder / "output").mkdir()
        line = {"step": 7, "loss": 3.5, "time": time.time(), "tokens_per_second": 1000}
        (folder / "output" / "metrics.jsonl").write_text(json.dumps(line) + "\n")


def _bytes_of(jobs: dict[str, Any]) -> str:
    """What a node gets, most of it the names and addresses of all nodes."""
    own = next(iter(jobs.values()))
    return f"{len(json.dumps(own)) / 1024:.1f} KiB a node"


def table(phases: list[Phase]) -> str:
    """A row for each phase and size; growth is the CPU for each further node against that of the
    step before: 1 is linear."""
    lines = [
        "| phase | nodes | s | CPU s | CPU ms/node | growth | |",
        "|" + "---|" * 7,
    ]
    for name in dict.fromkeys(phase.name for phase in phases):
        rows = [phase for phase in phases if phase.name == name]
        for before, phase in zip([None, *rows], rows, strict=False):
            growth = ""
            if before and before.cpu > 0.01:
                growth = f"{phase.cpu / before.cpu / (phase.nodes / before.nodes):.2f}"
            cells = [
                name,
                str(phase.nodes),
                f"{phase.wall:.3f}",
                f"{phase.cpu:.3f}",
                f"{1000 * phase.cpu / phase.nodes:.2f}",
                growth,
                phase.noted,
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


@contextmanager
def _state() -> Iterator[None]:
    """Quarantine and records of the user's own must not count."""
    with tempfile.TemporaryDirectory(prefix="playrunner-training-") as folder:
        os.environ["PLAYRUNNER_STATE_HOME"] = folder
        yield


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(began: tuple[float, float]) -> tuple[float, float]:
    now = _now()
    return now[0] - began[0], now[1] - began[1]


if __name__ == "__main__":
    sys.exit(main())
