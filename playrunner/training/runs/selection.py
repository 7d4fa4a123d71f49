"""Which run a verb is about: the one named, else the only one that runs, else the newest."""

from __future__ import annotations

from difflib import get_close_matches

from playrunner.errors import HostUnreachable, PlayrunnerError
from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.training.runs.states import NOT_FOUND
from playrunner.training.ssh.hosts import training_hosts
from playrunner.training.ssh.run_view import Run, all_runs


class RunNotFound(PlayrunnerError):
    """No run of that name on these nodes."""

    exit_code = NOT_FOUND


def the_run(fleet: Fleet, options: Options, name: str, metrics: int = 1) -> Run:
    hosts = training_hosts(fleet, options)
    runs, silent = all_runs(fleet, hosts, metrics=metrics)
    named = [run for run in runs if not name or run.name == name]
    going = [run for run in named if run.state == "running"]
    if len(going) > 1:
        raise RunNotFound(
            f"{len(going)} runs are going on: {', '.join(run.name for run in going)}; choose one"
            " with --name"
        )
    if named:
        return (going or named)[0]
    if silent and len(silent) == len(hosts):
        raise HostUnreachable("; ".join(silent.values()))
    raise RunNotFound(_nothing(name, [run.name for run in runs], silent))


def _nothing(name: str, known: list[str], silent: dict[str, str]) -> str:
    close = get_close_matches(name, known, 1)
    text = f'there is no run "{name}"' if name else "there is no run"
    text += (
        f'; did you mean "{close[0]}"?'
        if close
        else f"; there are {', '.join(known)}"
        if known
        else " on these nodes"
    )
    return text + (f" ({', '.join(silent)} did not answer)" if silent else "")
