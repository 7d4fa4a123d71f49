"""runs: the records of earlier runs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import JSON_FLAG, positional_if_given, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context

    from playrunner.record.past_runs import Unreadable


@verb(flags=JSON_FLAG, name="list", help={"last": "how many runs to show"})
def list_runs(context: Context, flags: dict[str, Any], last: int = 20) -> int:
    """List earlier runs, newest first."""
    from playrunner.record.past_runs import Unreadable, runs

    unreadable = Unreadable()
    recent = runs(unreadable=unreadable)[:last]
    _warn(unreadable)
    if flags["json"]:
        print_json(
            [
                {
                    "run_id": run.run_id,
                    "command": run.command,
                    "started": run.started,
                    "exit_code": run.recap.get("exit_code"),
                    "folder": str(run.folder),
                }
                for run in recent
            ]
        )
        return 0
    if not recent:
        print("no run is recorded yet")
    for run in recent:
        clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started))
        code = run.recap.get("exit_code")
        ended = (
            "did not end"
            if code is None
            else f"exit {code} after {run.recap.get('seconds', 0):.1f}s"
        )
        print(f"{run.run_id}  {clock}  {ended:<22}  {run.command}")
    return 0


@verb(
    flags=JSON_FLAG,
    positional=positional_if_given("runs.show", "id"),
    help={
        "id": "the run's ID, or its beginning (default: the latest)",
        "events": "show every event",
    },
)
def show(
    context: Context, flags: dict[str, Any], id: str | None = None, events: bool = False
) -> int:
    """Show a run's recap, failures and the folder of its full output."""
    from playrunner.errors import BadInput
    from playrunner.project import program
    from playrunner.record.past_runs import Unreadable, runs
    from playrunner.record.past_runs import events as events_of

    run = next((run for run in runs() if not id or run.run_id.startswith(id)), None)
    if run is None:
        raise BadInput(
            f'there is no run "{id}"; list them with: {program()} runs.list'
            if id
            else "no run is recorded yet"
        )
    unreadable = Unreadable()
    record = list(events_of(run.folder, unreadable))
    _warn(unreadable)
    if flags["json"]:
        print_json(
            {
                "run_id": run.run_id,
                "command": run.command,
                "folder": str(run.folder),
                "recap": run.recap,
                "events": record,
            }
        )
        return 0
    print(f"{run.run_id}: {run.command}\n{run.folder}")
    for host, counts in run.recap.get("recap", {}).items():
        print(f"  {host}  " + "  ".join(f"{name}={number}" for name, number in counts.items()))
    for event in record:
        bad = event.get("status") in ("failed", "unreachable")
        if events or bad:
            details = (str(event.get(name, "")) for name in ("host", "step", "msg"))
            print(f"  {event.get('status', event['event'])}: {' '.join(details)}")
    return 0


def _warn(unreadable: Unreadable) -> None:
    if unreadable.warning():
        print(f"warning: {unreadable.warning()}", file=sys.stderr)
