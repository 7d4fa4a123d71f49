"""train.stop for clusters: delete the run's objects, wait for its pods to end, and keep its
record."""

from __future__ import annotations

from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.kube.runs.ending import end
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.runs.selection import GOING_ON, the_run
from playrunner.training.kube.session import open_session
from playrunner.training.runs.record import Record


def stop(options: Options, name: str) -> int:
    session = open_session(options)
    run = the_run(session, name)
    if not run.job and not run.pods:
        return _say(
            options,
            run,
            run.state,
            False,
            f"{run.name} {run.state} already: nothing is left of it in the cluster",
        )
    going = run.state in (*GOING_ON, "stopping")
    if options.check:
        would = "would be stopped" if going else f"{run.state}; its job would be deleted"
        return _say(
            options,
            run,
            run.state,
            True,
            f"{run.name} {would}: {run.kind.resource[1]} {run.namespace}/{run.run_id}",
        )
    state = "stopped" if going else run.state
    end(session, run, options, state, "asked to stop" if going else run.status.reason)
    last = Record(run.name).ending().get("last")
    at = f" at step {last['step']}, loss {last['loss']:.4f}" if last else " before its first step"
    text = (
        f"{run.name} is stopped{at}"
        if going
        else f"{run.name} {state}{at if last else ''}; its job is deleted"
    )
    return _say(
        options,
        run,
        state,
        True,
        f"{text}: no pod is left; spec, logs and events are in {Record(run.name).folder}",
    )


def _say(options: Options, run: ClusterRun, state: str, changed: bool, text: str) -> int:
    if options.json:
        print_json(
            {
                "name": run.name,
                "run_id": run.run_id,
                "state": state,
                "changed": changed,
                "last": Record(run.name).ending().get("last"),
                "record": str(Record(run.name).folder),
            }
        )
    else:
        print(text)
    return 0
