"""Our own growth: more hosts, more steps, and what `invoke --list` costs. Straight lines are the
goal."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks.runner.measure import measure
from benchmarks.runner.stage import Stage
from benchmarks.runner.tools import REPOSITORY, Tool

HOSTS = (1, 10, 50, 100, 200)
STEPS = (20, 100, 200)
STEP_HOSTS = (1, 10)
LIST_REPEATS = 7


@dataclass(frozen=True)
class Growth:
    """One size, and what each host or step beyond the size before it has cost."""

    hosts: int
    steps: int
    first: float
    second: float
    first_ms_each: float | None = None
    second_ms_each: float | None = None


def growth(stage: Stage, tool: Tool, repeats: int) -> list[Growth]:
    """Measure along hosts (20 steps), then along steps (1 and 10 hosts)."""
    by_hosts = [_measured(stage.of_size(hosts), tool, 20, repeats) for hosts in HOSTS]
    found = _with_margins(by_hosts, "hosts")
    for hosts in STEP_HOSTS:
        by_steps = [_measured(stage.of_size(hosts), tool, steps, repeats) for steps in STEPS]
        found += _with_margins(by_steps, "steps")
    return found


def list_ratio() -> float:
    """CPU time of `invoke --list` here against the same where tasks.py is empty."""
    program = str(Path(sys.executable).with_name("invoke"))
    with tempfile.TemporaryDirectory() as empty:
        (Path(empty) / "tasks.py").write_text("")
        pairs = [
            [_cpu([program, "--list"], folder) for folder in (REPOSITORY, Path(empty))]
            for _ in range(LIST_REPEATS)
        ]
    return median(ours for ours, _ in pairs) / median(bare for _, bare in pairs)


def playbook_of(steps: int) -> str:
    """A playbook of so many steps: one folder, then small files with a text of their own."""
    lines = [
        "- hosts: all",
        "  gather_facts: false",
        "  tasks:",
        '    - file: {path: "{{ scratch }}/many", state: directory}',
    ]
    for number in range(2, steps + 1):
        text = f"{number} of {{{{ inventory_hostname }}}}"
        lines.append(f'    - copy: {{dest: "{{{{ scratch }}}}/many/{number}", content: "{text}"}}')
    return "\n".join(lines) + "\n"


def _measured(stage: Stage, tool: Tool, steps: int, repeats: int) -> Growth:
    playbook = stage.folder / f"steps-{steps}.yaml"
    playbook.write_text(playbook_of(steps))
    walls: dict[str, list[float]] = {"first": [], "second": []}
    for _ in range(repeats):
        stage.reset()
        for mode, seconds in walls.items():
            command = [
                str(playbook) if part.endswith("play.yaml") else part
                for part in tool.command(stage, False)
            ]
            ran = measure(command, tool.environment(stage), REPOSITORY)
            changes = tool.changes(ran.output)
            if ran.code or changes != (steps * stage.size if mode == "first" else 0):
                raise SystemExit(
                    f"{stage.size} hosts, {steps} steps, {mode} run: code {ran.code}, {changes}"
                    " changes"
                )
            seconds.append(ran.wall_seconds)
    print(f"{stage.size} hosts, {steps} steps: {walls}", file=sys.stderr)
    return Growth(stage.size, steps, median(walls["first"]), median(walls["second"]))


def _with_margins(sizes: list[Growth], along: str) -> list[Growth]:
    with_margins = sizes[:1]
    for before, here in itertools.pairwise(sizes):
        more = getattr(here, along) - getattr(before, along)
        first, second = here.first - before.first, here.second - before.second
        with_margins.append(
            replace(here, first_ms_each=1000 * first / more, second_ms_each=1000 * second / more)
        )
    return with_margins


def _cpu(command: list[str], folder: Path) -> float:
    ran = measure(command, os.environ, folder)
    if (
        ran.code and "No tasks found" not in ran.output
    ):  # which is what an empty tasks.py gets to hear
        raise SystemExit(
            f"{' '.join(command)} in {folder} ended with {ran.code}: {ran.output[-300:]}"
        )
    return ran.cpu_seconds
