"""train.env: the environment of a run's processes, explained."""

from __future__ import annotations

from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.environment.compiler import as_json, show_environment
from playrunner.training.request import Request, read_request, refuse, wanted_nodes
from playrunner.training.ssh.nodes import preflight
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.plan import environment_of, plan


def show_env(request: Request, options: Options, why: str) -> int:
    profile = read_request(request)
    with open_fleet(options, wanted_nodes(request, profile)) as fleet:
        job = plan(request, profile, fleet, options)
        facts = preflight.look(fleet, job)
        refuse(
            [f"{host}: {said['msg']}" for host, said in facts.items() if "msg" in said], "preflight"
        )
        variables = environment_of(job, fleet, facts)
    if options.json:
        print_json({"environment": as_json(variables)})
    else:
        print(show_environment(variables, why))
    return 0
