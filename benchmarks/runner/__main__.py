"""`python -m benchmarks.runner`: the twenty steps by every tool, or our own growth with
--scaling."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
from pathlib import Path

from benchmarks.runner import goals, scaling, tables
from benchmarks.runner.rounds import Score, play_rounds
from benchmarks.runner.stage import stage_of
from benchmarks.runner.tools import REPOSITORY, Tool, tools

QUICK_REPEATS = 3
SLOW_REPEATS = 1  # Ansible takes minutes on 50 hosts


def main() -> int:
    asked = _arguments()
    signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(128 + number)
    )  # the hosts are taken down on the way out
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.platform()}\n")
    if asked.scaling:
        return _show_scaling(asked.repeat or QUICK_REPEATS)
    chosen = [tools()[name] for name in asked.tools]
    for tool in chosen:
        tool.install()
    scores: list[Score] = []
    with stage_of(max(asked.hosts)) as stage:
        for hosts in asked.hosts:
            scores += play_rounds(stage.of_size(hosts), chosen, _repeats(chosen, asked.repeat))
    goal_results = list(goals.goal_results(scores))
    print(tables.score_table(scores))
    if "ours" in asked.tools:
        goal_results.append(goals.list_goal_result(scaling.list_ratio()))
        print("\n" + tables.goal_table(goal_results))
    if asked.json:
        text = json.dumps([score.as_json() for score in scores], indent=2)
        asked.json.write_text(text + "\n")
    return 1 if any(score.wrong for score in scores) else 0


def _show_scaling(repeats: int) -> int:
    with stage_of(max(scaling.HOSTS)) as stage:
        print(tables.growth_table(scaling.growth(stage, tools()["ours"], repeats)))
    print("\n" + tables.goal_table([goals.list_goal_result(scaling.list_ratio())]))
    return 0


def _repeats(chosen: list[Tool], asked: int | None) -> dict[str, int]:
    return {tool.name: asked or (SLOW_REPEATS if tool.slow else QUICK_REPEATS) for tool in chosen}


def _arguments() -> argparse.Namespace:
    every = list(tools())
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runner", description=__doc__)
    parser.add_argument(
        "--hosts", type=_numbers, default=[1, 10, 50], help="numbers of hosts (default: 1,10,50)"
    )
    parser.add_argument(
        "--tools", type=_names, default=_available(every), help=f"some of {','.join(every)}"
    )
    parser.add_argument(
        "--repeat",
        type=int,
        help=f"rounds (default: {SLOW_REPEATS} for slow tools, else {QUICK_REPEATS})",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement there")
    parser.add_argument(
        "--scaling", action="store_true", help="our growth with hosts and steps instead"
    )
    return parser.parse_args()


def _available(every: list[str]) -> list[str]:
    return [name for name in every if name != "ours" or (REPOSITORY / "tasks.py").exists()]


def _numbers(text: str) -> list[int]:
    return sorted(int(part) for part in text.split(","))


def _names(text: str) -> list[str]:
    unknown = [name for name in text.split(",") if name not in tools()]
    if unknown:
        raise argparse.ArgumentTypeError(f"no tool {unknown[0]!r}; there are: {', '.join(tools())}")
    return text.split(",")


if __name__ == "__main__":
    sys.exit(main())
