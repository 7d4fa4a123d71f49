"""train.status: all runs at a glance, as the nodes tell it now."""

from __future__ import annotations

import sys
import time
from typing import Any

from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.runs.selection import the_run
from playrunner.training.runs.states import exit_code
from playrunner.training.screen.screen import duration
from playrunner.training.ssh.hosts import open_fleet, training_hosts
from playrunner.training.ssh.run_view import Run, all_runs

_COLUMNS = ("run", "state", "step", "loss", "tokens/s", "nodes", "age", "cost")


def show_status(options: Options, name: str) -> int:
    """Every run, or one with its nodes; for one, the exit code tells its state."""
    with open_fleet(options) as fleet:
        if name:
            run = the_run(fleet, options, name)
            _show_one(run, options.json)
            return exit_code(run.state)
        runs, silent = all_runs(fleet, training_hosts(fleet, options))
    if options.json:
        print_json({"runs": [as_json(run) for run in runs], "silent": silent})
        return 4 if silent else 0
    if runs:
        print(table(runs))
    elif not silent:
        print("no runs; start one with: invoke train.launch --profile gpt2-micro-smoke")
    for host, why in silent.items():
        sys.stderr.write(f"{host} does not answer: {why}\n")
    return 4 if silent else 0


def table(runs: list[Run], now: float | None = None) -> str:
    rows = [_COLUMNS, *(_row(run, now or time.time()) for run in runs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def as_json(run: Run) -> dict[str, Any]:
    return {
        "name": run.name,
        "run_id": run.job.get("run_id"),
        "state": run.state,
        "reason": run.reason,
        "step": run.steps,
        "steps": run.job.get("steps"),
        "last": run.metrics[-1] if run.metrics else None,
        "launcher": run.job.get("launcher"),
        "nodes": {host: run.keepers.get(host, {}).get("state", "unknown") for host in run.hosts},
        "processes": run.processes,
        "checkpoints": run.checkpoints,
        "silent": list(run.silent),
        "created": run.job.get("created"),
        "cost": cost(run, time.time()),
    }


def cost(run: Run, now: float) -> float | None:
    """Dollars so far, where the inventory gives the nodes a price."""
    hourly = float(run.job.get("hourly") or 0)
    return round(hourly * _age(run, now) / 3600, 2) if hourly else None


def _row(run: Run, now: float) -> tuple[str, ...]:
    last: dict[str, Any] = run.metrics[-1] if run.metrics else {}
    paid = cost(run, now)
    return (
        run.name,
        run.state,
        f"{run.steps}/{run.job.get('steps', '?')}",
        f"{last['loss']:.4f}" if last else "-",
        f"{last.get('tokens_per_second', 0):,.0f}" if last and run.state == "running" else "-",
        str(len(run.hosts)) + (f" ({', '.join(run.silent)} silent)" if run.silent else ""),
        duration(_age(run, now)),
        f"${paid:,.2f}" if paid is not None else "-",
    )


def _age(run: Run, now: float) -> float:
    """How long it has lived: until now, or until its last keeper ended."""
    ended = [float(said.get("time", now)) for said in run.keepers.values()]
    until = now if run.state in ("running", "stopping") or not ended else max(ended)
    return max(0.0, until - float(run.job.get("created", until)))


def _show_one(run: Run, as_text: bool) -> None:
    if as_text:
        print_json(as_json(run))
        return
    print(table([run]))
    for host in run.hosts:
        said = run.keepers.get(host, {})
        count = run.processes.get(host, 0)
        print(f"  {host}: {said.get('state', 'unknown')}, {count} process{'es' * (count != 1)}")
    if run.reason:
        print(f"  {run.reason}")
    print(f"  checkpoints: {', '.join(run.checkpoints) or 'none yet'}")
