"""train.status: one run with its nodes, as they report it now."""

from __future__ import annotations

import time

from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.text.streams import visible
from playrunner.training.runs.run import Run
from playrunner.training.runs.stall import PACE
from playrunner.training.runs.states import exit_code
from playrunner.training.screen.runs_table import alert_line, as_json, table, terminal_width
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.nodes.selection import the_run


def show_status(options: Options, name: str) -> int:
    """One run with its nodes; the exit code tells its state."""
    with open_fleet(options) as fleet:
        run = the_run(fleet, options, name, PACE)
    if options.json:
        print_json(as_json(run))
    else:
        _show(run)
    return exit_code(run.state)


def _show(run: Run) -> None:
    print(table([run], width=terminal_width()))
    for host in run.hosts:
        state = run.supervisors.get(host, {}).get("state", "unknown")
        count = run.processes.get(host, 0)
        print(f"  {host}: {state}, {count} process{'es' * (count != 1)}")
    if run.reason:
        print(f"  {run.reason}")
    for alert in run.guard[-5:]:
        print(visible(f"  guard: {alert_line(alert, time.time())}"))
    print(f"  checkpoints: {', '.join(run.checkpoints) or 'none yet'}")
