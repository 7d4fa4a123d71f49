"""train.resume and train.scale: a run goes on from its newest complete checkpoint, on as many nodes
or on others."""

from __future__ import annotations

from dataclasses import replace

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.request import Request, continued
from playrunner.training.runs.record import Record
from playrunner.training.runs.run import Run
from playrunner.training.runs.states import ENDED
from playrunner.training.ssh.before_launch import check_launch
from playrunner.training.ssh.launch import launch
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.nodes.selection import the_run
from playrunner.training.ssh.stop import stop_run


def resume(
    options: Options, name: str, nodes: int, overrides: tuple[str, ...], detach: bool
) -> int:
    with open_fleet(options, nodes) as fleet:
        run = the_run(fleet, options, name)
        if run.state not in ENDED:
            raise BadInput(
                f"{run.name} is {run.state}; there is nothing to resume (train.scale changes its"
                " nodes)"
            )
        again = _again(run, nodes or len(run.hosts), overrides, detach)
        return launch(again, options, fleet)


def scale(options: Options, name: str, nodes: int, detach: bool) -> int:
    if nodes < 1:
        raise BadInput("--nodes says how many nodes the run should have")
    with open_fleet(options, nodes) as fleet:
        run = the_run(fleet, options, name)
        alive = [host for host, said in run.supervisors.items() if said.get("state") == "running"]
        if run.state == "running" and len(run.hosts) == len(alive) == nodes:
            if options.json:
                print_json(
                    {"name": run.name, "state": run.state, "changed": False, "nodes": run.hosts}
                )
            else:
                print(f"{run.name} has {nodes} node{'s' * (nodes != 1)} already: nothing changed")
            return 0
        again = _again(run, nodes, (), detach)
        # What cannot run on so many nodes is refused while the run still goes on.
        check_launch(again, fleet, options)
        if run.state in ("running", "stopping") and not options.check:
            code = stop_run(fleet, run.job, options)
            if code:
                return code
        return launch(again, options, fleet)


def _again(run: Run, nodes: int, overrides: tuple[str, ...], detach: bool) -> Request:
    """The request that made the run, on another number of nodes."""
    given = Record(run.name).job() or run.job
    request = Request(
        str(given["profile"]),
        run.name,
        nodes,
        continued(given.get("overrides", ()), bool(run.checkpoints)),
        str(given["launcher"]),
        secrets=tuple(given.get("secrets", ())),
    )
    return replace(request, overrides=(*request.overrides, *overrides), detach=detach)
