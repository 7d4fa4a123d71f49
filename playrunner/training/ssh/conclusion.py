"""How a run ended: the loss as a chart, where its checkpoints are, or what went wrong and what to
do next."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.training.diagnosis.causes import Facts, causes
from playrunner.training.runs.record import Record
from playrunner.training.runs.states import exit_code, overall
from playrunner.training.screen.phases import reached, resume_line
from playrunner.training.screen.screen import LiveLine, loss_chart

TAIL_SHOWN = 12
SURE_ENOUGH = 60

States = dict[str, dict[str, Any]]


def conclude(
    job: dict[str, Any],
    states: States,
    record: Record,
    line: LiveLine,
    options: Options,
    checkpoints: Sequence[str] = (),
) -> int:
    ends = {
        node["host"]: states.get(node["host"], {}).get("state", "unknown") for node in job["nodes"]
    }
    state, metrics, cause = _overall(job, ends), record.metrics(), cause_of(states)
    record.end({"state": state, "time": time.time(), "cause": cause, "nodes": ends})
    first = job["nodes"][0]
    output = f"{first['host']}:{first['root']}/runs/{job['name']}/output"
    if options.json:
        print_json(
            {
                "name": job["name"],
                "run_id": job["run_id"],
                "state": state,
                "changed": True,
                "backend": "ssh",
                "nodes": ends,
                "cause": cause,
                "last": metrics[-1] if metrics else None,
                "checkpoint": checkpoints[-1] if checkpoints else None,
                "output": output,
                "logs": str(record.folder / "hosts"),
            }
        )
    elif state == "finished":
        _say_success(job, metrics, output, line)
    else:
        _say_failure(job["name"], state, states, line, cause)
        line.say(f"it ended {reached(metrics, checkpoints)}; {resume_line(job['name'])}")
        _say_likely(Facts(job["name"], state, job, time.time(), states, metrics=metrics), line)
        line.say(
            f"every node's output is in {record.folder}/hosts; more: {program()} train.why --name"
            f" {job['name']}"
        )
    return exit_code(state)


def cause_of(states: States) -> dict[str, Any] | None:
    """What the first node found to be behind it, else what any other did."""
    return next((said["cause"] for said in states.values() if said.get("cause")), None)


def _overall(job: dict[str, Any], ends: dict[str, str]) -> str:
    if job.get("elastic"):  # the first node's word counts: others may have been lost on the way
        return ends[job["nodes"][0]["host"]]
    return overall(ends.values())


def _say_success(
    job: dict[str, Any], metrics: list[dict[str, Any]], output: str, line: LiveLine
) -> None:
    name = job["name"]
    if metrics:
        line.say(loss_chart(metrics))
        line.say(
            f"{name} is done: loss {metrics[0]['loss']:.4f} -> {metrics[-1]['loss']:.4f} in"
            f" {metrics[-1]['step']} steps"
        )
    else:
        line.say(f"{name} is done")
    line.say(f"checkpoints: {output}/checkpoints")
    line.say(
        "next, for example:\n"
        f"  {program()} train.status --name {name}\n"
        f"  {program()} train.logs --name {name}"
    )


def _say_failure(
    name: str, state: str, states: States, line: LiveLine, cause: dict[str, Any] | None
) -> None:
    if cause:
        line.say(f"{name} failed. {cause['node']}: {cause['what']}")
        for text in cause.get("tail", ())[-TAIL_SHOWN:]:
            line.say(f"    {text}")
    else:
        reasons = [
            f"{host}: {said['reason']}" for host, said in states.items() if said.get("reason")
        ]
        line.say(f"{name} is {state}. {'; '.join(dict.fromkeys(reasons))}")


def _say_likely(facts: Facts, line: LiveLine) -> None:
    """What the last words mean, where that is known; what the nodes would say when they are asked
    is for train.why."""
    likely = causes(facts)[0]
    if likely.score >= SURE_ENOUGH:
        line.say(f"likely: {likely.title}")
        line.say(f"next:   {likely.next_command}")
