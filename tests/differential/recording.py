"""Reading and writing expected/NAME.json: what ansible-core made of a case, so that the tests need
not run it again."""

from __future__ import annotations

import json
from typing import Any

from . import ansible
from .case import RUNS, Case
from .harness import Outcome

SAME = "as before"  # stands for a tree equal to the one of the run before


class Stale(Exception):
    """The recording is missing or belongs to another state of the case."""


def write_recording(case: Case, outcomes: dict[str, Outcome]) -> None:
    runs: dict[str, Any] = {}
    previous: object = None
    for run in RUNS:
        recorded = outcomes[run].recorded()
        previous, recorded["tree"] = (
            recorded["tree"],
            SAME if recorded["tree"] == previous else recorded["tree"],
        )
        runs[run] = recorded
    content = {"ansible_core": ansible.core_version(), "case": case.digest(), "runs": runs}
    case.recording.parent.mkdir(exist_ok=True)
    case.recording.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_recording(case: Case) -> dict[str, Outcome]:
    if not case.recording.exists():
        raise Stale(f"{case.name} has no recording of Ansible's outcome; {_remedy(case)}")
    content = json.loads(case.recording.read_text())
    if content["case"] != case.digest():
        raise Stale(f"{case.name} changed since Ansible's outcome was recorded; {_remedy(case)}")
    outcomes: dict[str, Outcome] = {}
    tree: dict[str, list[str]] = {}
    for run in RUNS:
        recorded = content["runs"][run]
        tree = tree if recorded["tree"] == SAME else recorded["tree"]
        outcomes[run] = Outcome(recorded["succeeded"], recorded["recap"], tree)
    return outcomes


def _remedy(case: Case) -> str:
    return f"run: python -m tests.differential.record {case.name}"
