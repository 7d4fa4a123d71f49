"""train.prune: remove all runs that have ended from their nodes, but the newest."""

from __future__ import annotations

import sys

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.request import refuse
from playrunner.training.runs.states import ENDED
from playrunner.training.ssh.delete import measured, remove, shown_size
from playrunner.training.ssh.nodes.hosts import open_fleet, training_hosts
from playrunner.training.ssh.run_view import all_runs


def prune(options: Options, keep: int) -> int:
    """With their checkpoints; what goes on is left alone, and so are the `keep` newest of the
    rest."""
    if keep < 0:
        raise BadInput(f"--keep must be 0 or more, not {keep}")
    with open_fleet(options) as fleet:
        runs, silent = all_runs(fleet, training_hosts(fleet, options))
        refuse([f"{host}: {why}" for host, why in silent.items()], "prune")
        ended = [run for run in runs if run.state in ENDED and not any(run.processes.values())]
        candidates = {run.name: (run, measured(fleet, run)) for run in ended[keep:]}
        total = sum(folders.bytes for _, folders in candidates.values())
        if not options.json:
            for name, (run, folders) in candidates.items():
                print(f"{name}: {run.state}, {shown_size(folders.bytes)}")
        changed = (
            bool(candidates) and not options.check and _agreed(len(candidates), total, options)
        )
        for run, folders in candidates.values() if changed else ():
            remove(fleet, run, folders)
    if options.json:
        sizes = {name: folders.bytes for name, (_, folders) in candidates.items()}
        print_json({"changed": changed, "runs": sizes, "bytes": total})
    elif not candidates:
        print("no run that has ended is left to delete")
    else:
        word = "deleted" if changed else "would be deleted; nothing is changed"
        print(f"{len(candidates)} runs, {shown_size(total)}: {word}")
    return 0


def _agreed(count: int, total: int, options: Options) -> bool:
    if options.yes:
        return True
    if options.json or not sys.stdin.isatty():
        raise BadInput(
            f"deleting {count} runs ({shown_size(total)}) needs --yes without a terminal"
        )
    answer = input(f"delete {count} runs ({shown_size(total)})? [y/N] ")
    return answer.strip().lower() in ("y", "yes")
