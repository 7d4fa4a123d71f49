"""train.stop: end a run, its checkpoint saved, and prove that nothing of it is left."""

from __future__ import annotations

from playrunner.cli import print_json
from playrunner.options import Options
from roles.training.plan import LaunchRefused, open_fleet
from roles.training.runs import find_run, stop_run
from roles.training.selection import the_run


def stop(options: Options, name: str) -> int:
    with open_fleet(options) as fleet:
        run = the_run(fleet, options, name)
        if run.state not in ("running", "stopping") and not any(run.processes.values()):
            _say(options, {"name": run.name, "state": run.state, "changed": False}, f"{run.name} {run.state} already: nothing to stop")
            return 0
        code = stop_run(fleet, run.job, options)
        if code or options.check:
            return code
        after = find_run(fleet, run.hosts, run.name)
        left = {host: count for host, count in (after.processes if after else {}).items() if count}
        if left:
            raise LaunchRefused(f"{run.name}: processes are left on {', '.join(left)}; look there with: invoke train.why --name {run.name}")
        newest = after.checkpoints[-1] if after and after.checkpoints else "none"
        if not options.json:
            print(f"{run.name} is stopped on {', '.join(run.hosts)}: no process left; newest checkpoint: {newest}")
        return 0


def _say(options: Options, facts: dict[str, object], text: str) -> None:
    if options.json:
        print_json(facts)
    else:
        print(text)
