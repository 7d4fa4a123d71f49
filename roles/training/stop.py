"""train.stop: end a run, its checkpoint saved, and prove that nothing of it is left."""

from __future__ import annotations

from playrunner.cli import print_json
from playrunner.errors import StepFailed
from playrunner.options import Options
from roles.training.plan import open_fleet
from roles.training.runs import Run, find_run, stop_run
from roles.training.selection import the_run


def stop(options: Options, name: str) -> int:
    with open_fleet(options) as fleet:
        run = the_run(fleet, options, name)
        if run.state not in ("running", "stopping") and not any(run.processes.values()):
            return _say(options, run, False, f"{run.name} {run.state} already: nothing to stop")
        code = stop_run(fleet, run.job, options)
        if code or options.check:
            return code
        after = find_run(fleet, run.hosts, run.name) or run
    left = [host for host, count in after.processes.items() if count]
    if left:
        raise StepFailed(f"{run.name}: processes are left on {', '.join(left)}; see: invoke train.why --name {run.name}")
    newest = after.checkpoints[-1] if after.checkpoints else "none"
    text = f"{run.name} is stopped on {', '.join(run.hosts)}: no process left; newest checkpoint: {newest}"
    return _say(options, after, True, text)


def _say(options: Options, run: Run, changed: bool, text: str) -> int:
    if options.json:
        print_json({"name": run.name, "state": run.state, "changed": changed, "checkpoints": run.checkpoints})
    else:
        print(text)
    return 0
