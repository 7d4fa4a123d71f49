"""Rehearsing a story: what it needs is said first, then each stage runs as a command of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import Any

from playrunner.errors import BadInput, HostUnreachable
from playrunner.frozen import frozen
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import install_extra, program
from playrunner.training.data.declared import declared, read_by
from playrunner.training.inventory_scope import scope_of, value_of
from playrunner.training.rehearsal.stages import Stage, stages_of, typed
from playrunner.training.rehearsal.stories import STORIES, Story, story_of
from playrunner.training.request import profile_of
from playrunner.variables.asked_inventory import open_inventory

HEARTBEAT_SECONDS = 30.0
NOT_UNCHANGED = 2  # the exit code when the second run changed something
_OWN = ("aws_region", "cluster_name")  # which the sandbox's inventory has, too
_EXTRAS = {"moto": "sandbox"}


@frozen
class Done:
    stage: Stage
    code: int
    seconds: float
    changed: tuple[str, ...] = ()  # steps of a second run that should have had nothing to do

    @property
    def reason(self) -> str:
        return f"changed again: {', '.join(self.changed)}" if self.changed else ""


def list_stories(options: Options) -> int:
    if options.json:
        listed = [{"name": each.name, "title": each.title} for each in STORIES.values()]
        print_json({"stories": listed})
        return 0
    for story in STORIES.values():
        print(f"{story.name:14} {story.title}")
    print(f"rehearse one with: {program()} rehearse STORY")
    return 0


def rehearse(name: str, options: Options, steps: int, keep: bool) -> int:
    """The exit code of the first stage that failed; later ones are left out but for teardown."""
    if steps < 1:
        raise BadInput(f"--steps must be at least 1, not {steps}")
    story = story_of(name)
    stages = stages_of(story, steps, own_variables(story), keep)
    notes = notes_of(story)
    if not options.json:
        print(f"{story.name}: {story.title}")
        for note in notes:
            print(f"  {note}")
        for stage in stages:
            print(f"  {stage.name}: {typed(program(), stage.words)}", flush=True)
    if options.check:
        if options.json:
            print_json(_described(story, notes, stages, [], 0))
        return 0
    _refuse_without_packages(story)
    done: list[Done] = []
    for number, stage in enumerate(stages, 1):
        if any(each.code for each in done) and not stage.deletes:
            continue
        if not options.json:
            print(f"\nREHEARSAL {number} of {len(stages)} {stage.name}: {stage.title}", flush=True)
        done.append(_run(stage, options))
    code = next((each.code for each in done if each.code), 0)
    if options.json:
        print_json(_described(story, notes, stages, done, code))
    else:
        _print_summary(story, done, code)
    return code


def own_variables(story: Story) -> dict[str, Any]:
    """The guide's region and names: --inventory local after it would replace them."""
    options = Options(inventory=(story.inventory,))
    scope = scope_of(open_inventory(options), options)
    found = {name: value_of(scope, name, "") for name in _OWN}
    return {name: str(value) for name, value in found.items() if value}


def notes_of(story: Story) -> list[str]:
    """What takes the place of what, and what only an account can show."""
    data = profile_of(story.profile, ()).train.data
    data_set = read_by(declared(), data)
    words = {
        "program": program(),
        "playbook": f"playbooks/{story.playbook}.yaml",
        "inventory": story.inventory,
    }
    return [
        *(
            [
                f"data: a small stand-in of {data_set.title} in its own format; on an account the"
                f" same step brings {data_set.source}"
            ]
            if data_set
            else []
        ),
        "devices: none; pods are submitted for the guide's machines, and their processes make model"
        " and batch small",
        *(f"not rehearsed: {text.format(**words)}" for text in story.unproved),
    ]


def _refuse_without_packages(story: Story) -> None:
    missing = [name for name in story.data_packages if find_spec(name) is None]
    if missing:
        extras = ",".join(sorted({_EXTRAS.get(name, "train") for name in missing}))
        raise HostUnreachable(
            f"{story.name} needs {', '.join(missing)} on this machine: {install_extra(extras)}"
        )


def _run(stage: Stage, options: Options) -> Done:
    """As a user types it; what is captured shows that it goes on."""
    captured = stage.unchanged or options.json
    command = [sys.executable, "-m", "playrunner", *stage.words, *(["--json"] * captured)]
    started = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE if captured else None, stdin=subprocess.DEVNULL, text=True
    ) as process:
        output = _followed(process, stage, options.json) if captured else ""
        code = process.wait()
    changed = changed_steps(output) if stage.unchanged and not code else ()
    return Done(stage, code or NOT_UNCHANGED * bool(changed), time.monotonic() - started, changed)


def _followed(process: subprocess.Popen[str], stage: Stage, quiet: bool) -> str:
    started = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=HEARTBEAT_SECONDS)[0]
        except subprocess.TimeoutExpired:
            if not quiet:
                seconds = time.monotonic() - started
                print(f"{stage.name}: still running after {seconds:.0f}s", flush=True)


def changed_steps(output: str) -> tuple[str, ...]:
    """The steps of a run that changed something, by its --json."""
    results = json.loads(output or "{}").get("results", [])
    changed = [each["step"] for each in results if each.get("status") == "changed"]
    return tuple(dict.fromkeys(changed))


def _described(
    story: Story, notes: list[str], stages: list[Stage], done: list[Done], code: int
) -> dict[str, Any]:
    ran = {each.stage.name: each for each in done}
    return {
        "story": story.name,
        "profile": story.profile,
        "nodes": story.nodes,
        "notes": notes,
        "stages": [
            {
                "name": stage.name,
                "command": [program(), *stage.words],
                **(
                    {
                        "exit_code": ran[stage.name].code,
                        "seconds": round(ran[stage.name].seconds, 1),
                        "changed": list(ran[stage.name].changed),
                        "reason": ran[stage.name].reason,
                    }
                    if stage.name in ran
                    else {}
                ),
            }
            for stage in stages
        ],
        "exit_code": code,
    }


def _print_summary(story: Story, done: list[Done], code: int) -> None:
    print()
    for each in done:
        state = f"failed ({each.code})" if each.code else "ok"
        print(f"{each.stage.name:24} {state:12} {each.seconds:7.1f}s  {each.reason}".rstrip())
    print(f"{story.name} was rehearsed" + (f", and failed with {code}" if code else " to its end"))
