"""`python -m benchmarks.fleet`: the twenty steps on 1 to 1,000 simulated hosts, beside the
floor."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.fleet.fleet import fleet_of
from benchmarks.runner.measure import measure
from benchmarks.runner.stage import Stage
from benchmarks.runner.tools import REPOSITORY, Tool, tools

HOSTS = (1, 10, 100, 300, 1000)
ROUND_TRIPS = (0.0, 20.0, 100.0)
MODES = ("first", "second")
CHANGES = 19  # of the first run, on each host


@dataclass(frozen=True)
class Run:
    """One run of one tool."""

    tool: str
    hosts: int
    round_trip_ms: float
    mode: str
    wall_seconds: float
    cpu_seconds: float
    peak_mib: float


def main() -> int:
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    load = os.getloadavg()[0]
    print(
        f"{os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f} before;"
        " the hosts share these cores\n"
    )
    chosen = [tools()[name] for name in asked.tools]
    for tool in chosen:
        tool.install()
    runs: list[Run] = []
    with fleet_of(max(asked.hosts)) as fleet:
        for round_trip, hosts in itertools.product(asked.rtt, asked.hosts):
            fleet.round_trip(round_trip, loss=asked.loss)
            runs += _measured(fleet.stage.of_size(hosts), chosen, round_trip, asked.forks)
    print(table(runs))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")
    return 0


def _measured(stage: Stage, chosen: list[Tool], round_trip: float, forks: int) -> list[Run]:
    runs = []
    for tool in chosen:
        stage.reset()
        for mode in MODES:
            own = ["--forks", str(forks)] if tool.name == "ours" and forks else []
            ran = measure([*tool.command(stage, False), *own], tool.environment(stage), REPOSITORY)
            changes = tool.changes(ran.output)
            expected = CHANGES * stage.size if mode == "first" else 0
            if ran.code or changes != expected:
                raise SystemExit(
                    f"{tool.title}, {stage.size} hosts, {mode} run: code {ran.code}, {changes}"
                    f" changes instead of {expected}\n{ran.output[-2000:]}"
                )
            runs.append(
                Run(
                    tool.name,
                    stage.size,
                    round_trip,
                    mode,
                    ran.wall_seconds,
                    ran.cpu_seconds,
                    ran.peak_mib,
                )
            )
            print(_line(runs[-1]), file=sys.stderr, flush=True)
    return runs


def table(runs: list[Run]) -> str:
    """A row for each run of ours: its cost, its growth for each further host, the floor beside."""
    lines = [
        "| round trip ms | hosts | run | s | CPU s | peak MiB | ms/host | CPU ms/host | KiB/host"
        " | x floor s | x floor CPU |",
        "|" + "---|" * 11,
    ]
    by_key = {(run.tool, run.round_trip_ms, run.hosts, run.mode): run for run in runs}
    for run in runs:
        if run.tool != "ours":
            continue
        floor = by_key.get(("floor", run.round_trip_ms, run.hosts, run.mode))
        smaller = [
            other
            for other in runs
            if (other.tool, other.round_trip_ms, other.mode)
            == (run.tool, run.round_trip_ms, run.mode)
            and other.hosts < run.hosts
        ]
        lines.append(_row(run, smaller[-1] if smaller else None, floor))
    return "\n".join(lines)


def _row(run: Run, smaller: Run | None, floor: Run | None) -> str:
    growth = ["", "", ""]
    if smaller:
        more = run.hosts - smaller.hosts
        growth = [
            f"{1000 * (run.wall_seconds - smaller.wall_seconds) / more:.1f}",
            f"{1000 * (run.cpu_seconds - smaller.cpu_seconds) / more:.1f}",
            f"{1024 * (run.peak_mib - smaller.peak_mib) / more:.0f}",
        ]
    ratios = ["", ""]
    if floor:
        ratios = [
            f"{run.wall_seconds / floor.wall_seconds:.2f}",
            f"{run.cpu_seconds / floor.cpu_seconds:.2f}",
        ]
    cells = [
        f"{run.round_trip_ms:g}",
        str(run.hosts),
        run.mode,
        f"{run.wall_seconds:.2f}",
        f"{run.cpu_seconds:.2f}",
        f"{run.peak_mib:.0f}",
        *growth,
        *ratios,
    ]
    return "| " + " | ".join(cells) + " |"


def _line(run: Run) -> str:
    return (
        f"{run.tool}, {run.hosts} hosts, {run.round_trip_ms:g} ms, {run.mode}:"
        f" {run.wall_seconds:.2f} s, CPU {run.cpu_seconds:.2f} s, {run.peak_mib:.0f} MiB"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--hosts", type=_whole_numbers, default=HOSTS, help="such as 1,10,100")
    parser.add_argument("--rtt", type=_numbers, default=ROUND_TRIPS, help="milliseconds: 0,20")
    parser.add_argument("--loss", type=float, default=0.0, help="share of writes sent twice")
    parser.add_argument("--forks", type=int, default=0, help="our --forks (default: the default)")
    parser.add_argument(
        "--tools",
        type=lambda text: text.split(","),
        default=["floor", "ours"],
        help=f"some of {','.join(tools())}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement there")
    return parser.parse_args()


def _whole_numbers(text: str) -> list[int]:
    return sorted(int(part) for part in text.split(","))


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
