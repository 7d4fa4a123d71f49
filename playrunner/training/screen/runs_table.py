"""Runs as a table or as JSON."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import Any

from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.training.runs.remaining import seconds_left
from playrunner.training.runs.run import Run
from playrunner.training.runs.stall import stalled_for
from playrunner.training.screen.screen import duration, evaluation

ALARM_SECONDS = 300.0  # how long an alert is shown beside the state
_COLUMNS = ("run", "state", "step", "loss", "eval", "tokens/s", "nodes", "age", "left", "cost")
_FIRST_TO_GO = (
    "cost",
    "age",
    "eval",
    "tokens/s",
    "nodes",
    "left",
)  # where the terminal is too narrow


def show_runs(runs: list[Run], silent: dict[str, str], as_json_text: bool) -> int:
    """Every run; the exit code is 4 where a host or a cluster did not answer."""
    if as_json_text:
        print_json({"runs": [as_json(run) for run in runs], "silent": silent})
        return 4 if silent else 0
    if runs:
        print(table(runs, width=terminal_width()))
    elif not silent:
        print(f"no runs; start one with: {program()} train.launch --profile gpt2-micro-smoke")
    for host, why in silent.items():
        sys.stderr.write(f"{host} does not answer: {why}\n")
    return 4 if silent else 0


def table(runs: list[Run], now: float | None = None, width: int = 0) -> str:
    """With a width, columns that do not fit are left out, the least needed first."""
    rows = [_COLUMNS, *(_row(run, now or time.time()) for run in runs)]
    widths = {name: max(map(len, cells)) for name, *cells in zip(_COLUMNS, *rows, strict=True)}
    evaluated = any(evaluation(run.metrics[-1]) is not None for run in runs if run.metrics)
    shown = [name for name in _COLUMNS if name != "eval" or evaluated]
    for name in _FIRST_TO_GO:
        if width and sum(widths[each] for each in shown) + 2 * (len(shown) - 1) > width:
            shown = [each for each in shown if each != name]
    return "\n".join(
        "  ".join(
            cell.ljust(widths[name])
            for name, cell in zip(_COLUMNS, row, strict=True)
            if name in shown
        ).rstrip()
        for row in rows
    )


def terminal_width() -> int:
    """0 where there is no terminal: a file or a program reads all columns."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        return 0
    return shutil.get_terminal_size().columns


def as_json(run: Run) -> dict[str, Any]:
    return {
        "name": run.name,
        "run_id": run.job.get("run_id"),
        "state": run.state,
        "reason": run.reason,
        "step": run.steps,
        "steps": run.steps_in_all or run.job.get("steps"),
        "last": run.metrics[-1] if run.metrics else None,
        "launcher": run.job.get("launcher"),
        "nodes": {
            host: run.supervisors.get(host, {}).get("state", "unknown") for host in run.hosts
        },
        "processes": run.processes,
        "checkpoints": run.checkpoints,
        "checkpoint_bytes": run.checkpoint_bytes,
        "guard": run.guard,
        "restarts": max(
            (int(said.get("restarts", 0)) for said in run.supervisors.values()), default=0
        ),
        "silent": list(run.silent),
        "created": run.job.get("created"),
        "seconds_left": seconds_left(run, time.time()),
        "cost": cost(run, time.time()),
    }


def cost(run: Run, now: float) -> float | None:
    """Dollars so far, where the inventory gives the nodes a price."""
    hourly = float(run.job.get("hourly") or 0)
    return round(hourly * _age(run, now) / 3600, 2) if hourly else None


def _row(run: Run, now: float) -> tuple[str, ...]:
    last: dict[str, Any] = run.metrics[-1] if run.metrics else {}
    paid, left = cost(run, now), seconds_left(run, now)
    return (
        run.name,
        run.state + alarm(run, now),
        f"{run.steps}/{run.steps_in_all or '?'}",
        f"{last['loss']:.4f}" if last else "-",
        f"{evaluated:.4f}" if (evaluated := evaluation(last)) is not None else "-",
        _rate(run, now),
        str(len(run.hosts)) + (f" ({', '.join(run.silent)} silent)" if run.silent else ""),
        duration(_age(run, now)),
        duration(left) if left is not None else "-",
        f"${paid:,.2f}" if paid is not None else "-",
    )


def _rate(run: Run, now: float) -> str:
    """Tokens per second of a run that takes steps now."""
    if run.state != "running" or not run.metrics or stalled_for(run.metrics, now):
        return "-"
    return f"{run.metrics[-1].get('tokens_per_second') or 0:,.0f}"


def alarm(run: Run, now: float) -> str:
    """The guard's newest alert of the last minutes, while the run goes on."""
    recent = [each for each in run.guard if now - float(each.get("time", 0)) < ALARM_SECONDS]
    if run.state != "running":
        return ""
    if not recent or str(recent[-1].get("kind")).endswith("-over"):
        silence = stalled_for(run.metrics, now)
        return f" (no step for {duration(silence)})" if silence else ""
    return f" ({recent[-1].get('kind')})"


def alert_line(alert: dict[str, Any], now: float) -> str:
    return f"{duration(max(0.0, now - float(alert.get('time', now))))} ago: {alert.get('text')}"


def _age(run: Run, now: float) -> float:
    """How long it has lived: until now, or until its last supervisor ended."""
    ended = [float(said.get("time", now)) for said in run.supervisors.values()]
    until = now if run.state in ("running", "stopping") or not ended else max(ended)
    return max(0.0, until - float(run.job.get("created", until)))
