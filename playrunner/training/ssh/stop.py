"""train.stop: end a run, its checkpoint saved, and prove that nothing of it is left: no process, no
memory of a device."""

from __future__ import annotations

from dataclasses import asdict

from playrunner.errors import StepFailed
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.training.runs.run import Run
from playrunner.training.ssh.ending import Holder, held_memory, stop_run
from playrunner.training.ssh.hosts import open_fleet
from playrunner.training.ssh.run_view import find_run
from playrunner.training.ssh.selection import the_run


def stop(options: Options, name: str) -> int:
    with open_fleet(options) as fleet:
        run = the_run(fleet, options, name)
        if run.state not in ("running", "stopping") and not any(run.processes.values()):
            held = held_memory(fleet, run.job)
            _refuse_held(run, held)
            return _say(
                options, run, False, f"{run.name} {run.state} already: nothing to stop", held
            )
        code = stop_run(fleet, run.job, options)
        if code or options.check:
            return code
        after = find_run(fleet, run.hosts, run.name) or run
        held = held_memory(fleet, run.job)
    left = [host for host, count in after.processes.items() if count]
    if left:
        raise StepFailed(
            f"{run.name}: processes are left on {', '.join(left)}; see: {program()} train.why"
            " --name"
            f" {run.name}"
        )
    _refuse_held(run, held)
    newest = after.checkpoints[-1] if after.checkpoints else "none"
    text = (
        f"{run.name} is stopped on {', '.join(run.hosts)}: no process left, no memory of a device"
        f" held; newest checkpoint: {newest}"
    )
    return _say(options, after, True, text, held)


def _refuse_held(run: Run, held: list[Holder]) -> None:
    """What the run itself still holds is a failure: the next one would not find room."""
    ours = [each.text for each in held if each.ours]
    if ours:
        lines = "\n       ".join(ours)
        raise StepFailed(
            f"{run.name} is stopped, but memory of its devices is still held:\n       {lines}\n    "
            "   what a process that is gone still holds comes back with: nvidia-smi --gpu-reset"
            " -i N"
        )


def _say(options: Options, run: Run, changed: bool, text: str, others: list[Holder]) -> int:
    if options.json:
        print_json(
            {
                "name": run.name,
                "state": run.state,
                "changed": changed,
                "checkpoints": run.checkpoints,
                "devices_held_by_others": [asdict(each) for each in others],
            }
        )
        return 0
    print(text)
    for each in others:
        print(f"  {each.text}; it is no part of {run.name}")
    return 0
