"""Each small playbook leaves with Playrunner what it leaves with ansible-core."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .harness import Outcome, open_stage, run_with_playrunner
from .small import CASE, NAMES, RECORDING, SMALL, left_by

EXPECTED: dict[str, Any] = json.loads(RECORDING.read_text())


@pytest.fixture(scope="module")
def ours() -> Iterator[Outcome]:
    for command in CASE.needs:
        if not shutil.which(command):
            pytest.skip(f"needs {command}")
    with tempfile.TemporaryDirectory(prefix="pd") as folder, open_stage(Path(folder)) as stage:
        yield run_with_playrunner(CASE, stage)["first"]


@pytest.mark.parametrize("name", NAMES)
def test_a_small_playbook_leaves_what_it_leaves_with_ansible(name: str, ours: Outcome) -> None:
    assert left_by(name, ours) == EXPECTED["files"][name]


def test_all_together_count_what_ansible_counts(ours: Outcome) -> None:
    assert ours.recap == EXPECTED["recap"]


def test_the_recording_is_of_these_playbooks() -> None:
    imported = "".join(f"- import_playbook: {name}.yaml\n" for name in NAMES)
    assert (SMALL / "play.yaml").read_text() == imported
    assert EXPECTED["digest"] == CASE.digest(), (
        "stale: record again with python -m tests.differential.small"
    )
