"""train.why: every node is looked at once, all together, and the likely causes of a run's trouble
are printed, the likeliest first."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, replace
from typing import Any

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.ssh.fleet import Answer, Fleet
from playrunner.text.documents import read_json_object
from playrunner.training.diagnosis.causes import Cause, Facts, causes
from playrunner.training.request import Request, profile_of
from playrunner.training.runs.record import Record
from playrunner.training.runs.run import Run
from playrunner.training.runs.selection import RunNotFound
from playrunner.training.ssh.nodes import preflight
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.nodes.selection import the_run
from playrunner.training.ssh.plan import plan

# A node's own look takes at most 25, stack dumps included; one that is frozen never answers
ANSWER_SECONDS = 40.0
METRICS = 200  # lines that tell how long a step usually takes
_SHOWN = 5


def show_why(options: Options, name: str) -> int:
    with open_fleet(options) as fleet:
        try:
            facts = _facts(fleet, the_run(fleet, options, name, METRICS), options)
        except RunNotFound:
            missing = _never_launched(fleet, options, name)
            if missing is None:
                raise
            facts = missing
    ranked = causes(facts)
    if options.json:
        print_json(
            {
                "name": facts.name,
                "state": facts.state,
                "step": facts.step,
                "causes": [asdict(cause) for cause in ranked],
                "silent": dict(facts.silent),
                "nodes": {host: dict(said) for host, said in facts.nodes.items()},
            }
        )
    else:
        print(causes_text(facts, ranked))
    return 0


def causes_text(facts: Facts, ranked: list[Cause]) -> str:
    """The causes as text, the likeliest first; unlikely ones only when there is nothing better."""
    steps = ", no step yet"
    if facts.metrics:
        in_all = facts.metrics[-1].get("last_step") or facts.job.get("steps") or "?"
        steps = f", step {facts.step} of {in_all}"
    lines = [f"{facts.name}: {facts.state}{steps}"]
    likely = [cause for cause in ranked if cause.score >= ranked[0].score // 2][:_SHOWN]
    for number, cause in enumerate(likely, 1):
        sure = f"  ({cause.score} %)" if cause.score else ""
        lines += [
            "",
            f"{number}. {cause.title}{sure}",
            *(f"     {line}" for line in cause.evidence),
        ]
        if cause.next_command:
            lines.append(f"   next: {cause.next_command}")
    rest = len(ranked) - len(likely)
    if rest:
        lines += ["", f"and {rest} less likely: --json has all of them"]
    return "\n".join(lines)


def ask_within(
    fleet: Fleet, module: str, arguments: dict[str, dict[str, Any]], seconds: float
) -> dict[str, Answer]:
    """One module on every host at once; a host that does not answer in time is reported as
    silent."""
    answers: dict[str, Answer] = {}

    def ask(host: str) -> None:
        answers.update(fleet.ask([host], module, arguments.__getitem__))

    threads = [threading.Thread(target=ask, args=(host,), daemon=True) for host in arguments]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    silence: Answer = {"unreachable": True, "msg": f"no answer within {seconds:g} s"}
    return {host: dict(answers).get(host, silence) for host in arguments}


def _facts(fleet: Fleet, run: Run, options: Options) -> Facts:
    nodes = {node["host"]: node for node in run.job.get("nodes", ())}
    since = float(run.job.get("created", 0)) - 5
    arguments = {
        host: {
            "root": node["root"],
            "host": host,
            "run": run.name,
            "python": node["python"],
            "since": since,
        }
        for host, node in nodes.items()
        if host in fleet.inventory.hosts
    }
    answers = ask_within(fleet, "train.vitals", arguments, ANSWER_SECONDS)
    silent = {
        host: str(answer.get("msg", ""))
        for host, answer in answers.items()
        if "processes" not in answer
    }
    silent |= {host: "it is no longer in the inventory" for host in nodes if host not in arguments}
    known = Facts(
        run.name,
        run.state,
        run.job,
        time.time(),
        run.supervisors,
        {host: answer for host, answer in answers.items() if "processes" in answer},
        silent,
        run.metrics,
        run.checkpoints,
        network=_network(run),
    )
    if not run.metrics and not known.going_on:
        return replace(known, preflight=_preflight_problems(fleet, _as_launched(run), options))
    return known


def _network(run: Run) -> tuple[str, ...]:
    """What is to be said against the network that was checked before the run began, if this machine
    launched it."""
    try:
        verdict = read_json_object(Record(run.name).folder / "gate.json").get("verdict", {})
        return () if verdict["ok"] else tuple(map(str, verdict["lines"]))
    except (BadInput, KeyError, TypeError):
        return ()


def _never_launched(fleet: Fleet, options: Options, name: str) -> Facts | None:
    """No node knows the run: what prevents launching it; None when it is not known what it
    would be."""
    recorded = (Record(name).job() or Record(name).refused()) if name else {}
    request = _request(recorded, name)
    try:
        profile_of(request.profile, request.overrides)
    except BadInput:
        return None
    job = recorded or {"profile": request.profile, "name": name}
    return Facts(
        name,
        "not started",
        job,
        time.time(),
        preflight=_preflight_problems(fleet, request, options),
    )


def _request(job: dict[str, Any], name: str) -> Request:
    """As it was launched; one that never was is taken for the profile of its name."""
    if not job:
        return Request(name, name)
    nodes, overrides = len(job.get("nodes", ())), tuple(job.get("overrides", ()))
    return Request(str(job["profile"]), name, nodes, overrides, str(job.get("launcher", "")))


def _as_launched(run: Run) -> Request:
    return _request(Record(run.name).job() or run.job, run.name)


def _preflight_problems(fleet: Fleet, request: Request, options: Options) -> tuple[str, ...]:
    """What preflight says now; what the profile itself is refused for, when it is."""
    try:
        job = plan(request, profile_of(request.profile, request.overrides), fleet, options)
    except BadInput as error:
        return (str(error),)
    facts = preflight.look(fleet, job)
    return tuple(preflight.complaints(preflight.with_free_ports(job, facts), facts))
