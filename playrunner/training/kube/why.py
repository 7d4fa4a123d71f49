"""train.why for clusters: what may be behind a run's trouble, the likeliest first, each with the
next command."""

from __future__ import annotations

from dataclasses import asdict

from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.training.diagnosis.evidence import Cause
from playrunner.training.kube.diagnosis.facts import Facts, gather
from playrunner.training.kube.diagnosis.trouble import troubles
from playrunner.training.kube.diagnosis.waiting import waits
from playrunner.training.kube.runs.selection import the_run
from playrunner.training.kube.session import open_session

SHOWN = 5


def show_why(options: Options, name: str) -> int:
    session = open_session(options)
    facts = gather(session, the_run(session, name))
    ranked = causes(facts)
    if options.json:
        print_json(
            {
                "name": facts.run.name,
                "state": facts.run.state,
                "phase": facts.run.status.phase,
                "step": _step(facts),
                "causes": [asdict(cause) for cause in ranked],
            }
        )
        return 0
    print(f"{facts.run.name}: {facts.run.state} ({facts.run.status.phase}), {_progress(facts)}")
    for number, cause in enumerate(ranked[:SHOWN], 1):
        print(f"\n{number}. {cause.title}" + (f"  ({cause.score} %)" if cause.score else ""))
        for line in cause.evidence:
            print(f"     {line}")
        for line in cause.against:
            print(f"     against it: {line}")
        if cause.next_command:
            print(f"   next: {cause.next_command}")
    return 0


def causes(facts: Facts) -> list[Cause]:
    """All that speaks for something, the likeliest first; never empty."""
    found: dict[str, Cause] = {}
    for cause in [*waits(facts), *troubles(facts)]:
        known = found.get(cause.title)
        found[cause.title] = max(known, cause, key=lambda each: each.score) if known else cause
    return sorted(found.values(), key=lambda cause: -cause.score) or [_nothing(facts)]


def _nothing(facts: Facts) -> Cause:
    if facts.run.state == "finished":
        return Cause(
            0,
            f"nothing is wrong: it finished at step {_step(facts)}",
            (),
            f"{program()} train.status",
        )
    if facts.run.state == "failed":
        why = facts.run.status.reason
        return Cause(
            30,
            f"it failed, and nothing that is known explains it: {why}",
            (),
            f"{facts.see_logs} --all",
        )
    if not facts.metrics:
        return Cause(
            0,
            f"it has not begun to train yet, after {facts.age:.0f} s; no problem is visible",
            (),
            f"{facts.see_logs} --all --follow",
        )
    ago = facts.now - float(facts.metrics[-1]["time"])
    return Cause(
        0,
        f"nothing is wrong: it gets on, step {_step(facts)} {ago:.0f} s ago",
        (),
        f"{facts.see_logs} --follow",
    )


def _step(facts: Facts) -> int:
    return int(facts.metrics[-1]["step"]) if facts.metrics else 0


def _progress(facts: Facts) -> str:
    return (
        f"step {_step(facts)} of {facts.run.summary.get('steps', '?')}"
        if facts.metrics
        else "no step yet"
    )
