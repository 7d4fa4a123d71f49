"""Every role of this project, by itself: it loads, its variables are explained, and its verbs are
there."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.commands.namespace import namespace
from playrunner.model import steps_of
from playrunner.playbook.playbook import roles_play

ROOT = Path(__file__).parents[2]
ROLES = sorted(path.parent.parent.name for path in (ROOT / "roles").glob("*/tasks/main.yaml"))


@pytest.mark.parametrize("role", ROLES)
def test_a_role_loads_and_every_step_has_a_name(role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    play = roles_play([role])
    steps = [step for section in play.sections for step in steps_of(section)]
    assert steps and all(step.name for step in steps)


@pytest.mark.parametrize("role", ROLES)
def test_every_variable_of_a_role_is_explained(role: str) -> None:
    file = ROOT / "roles" / role / "defaults" / "main.yaml"
    lines = file.read_text().splitlines() if file.is_file() else []
    explained = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            explained = False
        elif line.startswith("#"):
            explained = True
        elif not line[0].isspace():
            assert explained or "#" in line, f"{file}:{number}: {line}"


def test_roles_about_a_cloud_can_be_created_checked_shown_and_deleted() -> None:
    names = namespace().task_names
    for role in ("network", "eks", "efs", "fsx", "registry", "bucket", "jumphost", "gke", "nfs"):
        assert {f"{role}.{verb}" for verb in ("create", "check", "status", "delete")} <= set(names)
    assert {"teardown", "status", "audit", "cost", "preflight.check", "eks.verify"} <= set(names)
    assert "train.create" not in names
