"""train.env for clusters: the environment of a run's pods, explained, as a launch would compile it
now."""

from __future__ import annotations

from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.environment.compiler import as_json, show_environment
from playrunner.training.kube.plan import plan
from playrunner.training.kube.session import open_session
from playrunner.training.request import Request, read_request


def show_env(request: Request, options: Options, launcher: str, why: str) -> int:
    job = plan(request, read_request(request), open_session(options), launcher)
    if options.json:
        print_json({"environment": as_json(job.environment)})
    else:
        print(show_environment(job.environment, why))
    return 0
