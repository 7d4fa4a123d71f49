"""Which run on the hosts a verb is about."""

from __future__ import annotations

from playrunner.errors import HostUnreachable
from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.text.did_you_mean import did_you_mean
from playrunner.training.runs.run import Run
from playrunner.training.runs.selection import RunNotFound, choose_run
from playrunner.training.ssh.nodes.hosts import training_hosts
from playrunner.training.ssh.run_view import all_runs

MOST_LISTED = 8


def the_run(fleet: Fleet, options: Options, name: str, metrics: int = 1) -> Run:
    hosts = training_hosts(fleet, options)
    runs, silent = all_runs(fleet, hosts, metrics=metrics)
    run = choose_run(runs, name, ("running",))
    if run:
        return run
    if silent and len(silent) == len(hosts):
        raise HostUnreachable("; ".join(silent.values()))
    raise RunNotFound(_not_found(name, [run.name for run in runs], silent))


def _not_found(name: str, names: list[str], silent: dict[str, str]) -> str:
    text = f'there is no run "{name}"' if name else "there is no run"
    text += did_you_mean(name, names, _listed(names)) if names else " on these nodes"
    return text + (f" ({', '.join(silent)} did not answer)" if silent else "")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"there are {', '.join(names[:MOST_LISTED])}{more}; train.status lists them"
