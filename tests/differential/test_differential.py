"""Every case gives with Playrunner what it gives with ansible-core: files, counts, success; first,
second and check runs."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.playbook.module_index import canonical, names
from playrunner.text.documents import read_yaml
from playrunner.vault.envelope import is_encrypted

from . import ansible
from .case import FOLDER, RUNS, Case, all_cases
from .harness import Outcome, Stage, open_stage, run_with_ansible, run_with_playrunner
from .recording import Stale, read_recording

LIVE = (
    os.environ.get("PLAYRUNNER_DIFFERENTIAL") == "live"
)  # run ansible-playbook beside ours instead of its recording
DIFFERENCES = FOLDER.parents[1] / "docs" / "ansible-differences.md"
CASES = all_cases()
SECTIONS = (
    "pre_tasks",
    "tasks",
    "post_tasks",
    "handlers",
    "block",
    "rescue",
    "always",
)  # where plays and tasks hold tasks


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    # A short path: ssh's control sockets of a live run must fit into 108 bytes.
    with tempfile.TemporaryDirectory(prefix="pd") as folder, open_stage(Path(folder)) as opened:
        yield opened


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_playbook_comes_to_what_ansible_makes_of_it(case: Case, stage: Stage) -> None:
    for command in case.needs:
        if not shutil.which(command):
            pytest.skip(f"needs {command}")
    for command in case.lacks:
        if shutil.which(command):
            pytest.skip(f"tells what happens where {command} is missing")
    for collection in case.collections if LIVE else ():
        if not ansible.has_collection(collection):
            pytest.skip(
                f"needs the collection {collection} beside ansible-core; see PLAYRUNNER_ANSIBLE in"
                " tests/differential"
            )
    try:
        expected = run_with_ansible(case, stage) if LIVE else read_recording(case)
    except Stale as stale:
        pytest.fail(str(stale), pytrace=False)
    ours = run_with_playrunner(case, stage)
    complaints = [
        text
        for run in RUNS
        if run not in case.differs
        for text in _differences(run, expected[run], ours[run])
    ]
    assert not complaints, "\n".join(complaints)


def test_each_chosen_difference_is_documented() -> None:
    documented = DIFFERENCES.read_text()
    named = {reason for case in CASES for reason in case.differs.values()}
    assert [reason for reason in sorted(named) if f"`{reason}`" not in documented] == []


def test_every_module_has_a_case() -> None:
    used = {canonical(name) for case in CASES for name in _modules_in(case)}
    assert [
        name for name in sorted(names()) if name.startswith(("host.", "play.")) and name not in used
    ] == []


def test_no_recording_outlives_its_case() -> None:
    assert {path.stem for path in (FOLDER / "expected").glob("*.json")} == {
        case.name for case in CASES
    }


def _modules_in(case: Case) -> set[str]:
    """Every key of every task, the name of its module among them."""
    found: set[str] = set()
    for path in case.folder.rglob("*.yaml"):
        if not is_encrypted(path.read_bytes()):  # vaulted variables hold no tasks
            found |= _task_keys(read_yaml(path))
    return found


def _task_keys(tasks: object) -> set[str]:
    found: set[str] = set()
    for task in tasks if isinstance(tasks, list) else []:
        if isinstance(task, dict):
            found |= {str(key) for key in task}
            found = found.union(*(_task_keys(task.get(section)) for section in SECTIONS))
    return found


def _differences(run: str, expected: Outcome, ours: Outcome) -> Iterator[str]:
    if expected.succeeded != ours.succeeded:
        yield f"{run}: Ansible {_ended(expected)}, Playrunner {_ended(ours)}\n{ours.output[-3000:]}"
    for host in sorted({*expected.recap, *ours.recap}):
        wanted, given = expected.recap.get(host), ours.recap.get(host)
        if wanted != given:
            yield f"{run}: {host} counted {given}, Ansible {wanted}"
    for path in sorted({*expected.tree, *ours.tree}):
        wanted_entry, given_entry = expected.tree.get(path), ours.tree.get(path)
        if wanted_entry != given_entry:
            yield f"{run}: {path} {_told_apart(wanted_entry, given_entry)}"


def _told_apart(wanted: list[str] | None, given: list[str] | None) -> str:
    if not wanted or not given or wanted[:2] != given[:2]:
        return f"is {given}, with Ansible {wanted}"
    lines = difflib.unified_diff(
        wanted[2].splitlines(), given[2].splitlines(), "Ansible", "Playrunner", lineterm="", n=0
    )
    return "\n".join(["differs:", *lines])


def _ended(outcome: Outcome) -> str:
    return "succeeded" if outcome.succeeded else "failed"
