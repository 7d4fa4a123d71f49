"""runs: what was done before."""

from __future__ import annotations

import sys
import time
from typing import Any

from playrunner.commands.flags import positional_if_given, verb
from playrunner.output.json_output import print_json

_JSON = {"json": (False, "print JSON on stdout, and nothing else there")}


@verb(flags=_JSON, name="list", help={"last": "how many to show"})
def list_runs(context: Any, flags: dict[str, Any], last: int = 20) -> int:
    """Earlier runs, newest first."""
    from playrunner.record.past_runs import Unreadable, runs

    unreadable = Unreadable()
    found = runs(unreadable=unreadable)[:last]
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
                for run in found
            ]
        )
        return 0
    if not found:
        print("no run is recorded yet")
    for run in found:
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
    flags=_JSON,
    positional=positional_if_given("runs.show", "id"),
    help={"id": "which run; the latest by default", "events": "every intent and outcome"},
)
def show(context: Any, flags: dict[str, Any], id: str | None = None, events: bool = False) -> int:
    """What one run did: its recap, its failures, and where its full output is."""
    from playrunner.errors import BadInput
    from playrunner.record.past_runs import Unreadable, runs
    from playrunner.record.past_runs import events as events_of

    found = [run for run in runs() if not id or run.run_id.startswith(id)]
    if not found:
        raise BadInput(
            f'there is no run "{id}"; "invoke runs.list" shows them'
            if id
            else "no run is recorded yet"
        )
    run = found[0]
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
            told = (event.get(name, "") for name in ("host", "step", "msg"))
            print(f"  {event.get('status', event['event'])}: {' '.join(map(str, told))}")
    return 0


def _warn(unreadable: Any) -> None:
    if unreadable.warning():
        print(f"warning: {unreadable.warning()}", file=sys.stderr)
