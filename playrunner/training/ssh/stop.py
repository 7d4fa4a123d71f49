"""train.stop: end a run, its checkpoint saved, and prove that nothing of it is left: no process, no
memory of a device."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from playrunner.errors import StepFailed
from playrunner.frozen import frozen
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.playbook.playbook import role_play
from playrunner.project import program
from playrunner.run.run import run_plays
from playrunner.ssh.fleet import Fleet
from playrunner.training.runs.run import Run
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.nodes.selection import the_run
from playrunner.training.ssh.run_view import find_run

# A driver takes back the memory of an ended process within a second, of a killed one later
RELEASE_SECONDS = 10.0


@frozen
class Holder:
    """A process that holds memory of a device."""

    host: str
    pid: int
    mib: int  # 0 where the driver does not say
    device: str
    name: str = ""  # nothing: the process is gone, and its memory is not
    ours: bool = False

    @property
    def text(self) -> str:
        what = f"{self.mib} MiB" if self.mib else "memory"
        who = f"pid {self.pid} ({self.name})" if self.name else f"pid {self.pid}, which has ended,"
        return f"{self.host}: {who} holds {what} of {self.device}"


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


def stop_run(fleet: Fleet, job: dict[str, Any], options: Options) -> int:
    """End a run on all its nodes, its checkpoint saved."""
    jobs = {
        node["host"]: {
            "folder": f"{node['root']}/runs/{job['name']}",
            "grace_seconds": job.get("grace_seconds", 30),
        }
        for node in job["nodes"]
    }
    play = role_play("training", ",".join(jobs), "stop")
    settings = replace(
        options,
        forks=max(options.forks, len(jobs)),
        extra_vars=(),
        limit="",
        json=False,
        quiet=options.json,
    )
    return run_plays(
        [play],
        settings,
        f"train.stop {job['name']}",
        inventory=fleet.inventory,
        extra={"jobs": jobs},
        agents=fleet.agents,
    )


def held_memory(
    fleet: Fleet, job: dict[str, Any], patience: float = RELEASE_SECONDS
) -> list[Holder]:
    """Who holds memory of the nodes' devices; what the run itself held is given this long to come
    back."""
    roots = {node["host"]: node["root"] for node in job["nodes"]}
    answers = fleet.ask(
        roots,
        "train.memory",
        lambda host: {
            "run": f"{roots[host]}/runs/{job['name']}",
            "host": host,
            "patience_seconds": patience,
        },
    )
    return [
        Holder(host, **holder)
        for host, answer in answers.items()
        for holder in answer.get("holders", ())
    ]


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
