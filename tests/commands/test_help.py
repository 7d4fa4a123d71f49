"""Help, the list of verbs, and words that no verb knows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runner import REPOSITORY, invoke


@pytest.mark.parametrize(
    "words",
    [
        ("play", "--help"),
        ("--help", "play"),
        ("--help", "runs.list"),
        ("hosts.trust", "--help"),
        ("modules.show", "--help"),
    ],
)
def test_help_is_shown_either_way(tmp_path: Path, words: tuple[str, ...]) -> None:
    shown = invoke(*words, state=tmp_path)
    assert shown.code == 0
    assert "Usage:" in shown.out and "Options:" in shown.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("play x.yaml --bogus", 'there is no flag "--bogus" here; see: '),
        ("no-such-verb", 'there is no verb "no-such-verb"; see: '),
        ("eks.creat", 'there is no verb "eks.creat"; did you mean "eks.create"?'),
    ],
)
def test_words_nobody_knows_are_bad_input(tmp_path: Path, words: str, told: str) -> None:
    shown = invoke(*words.split(), state=tmp_path)
    assert shown.code == 5 and shown.out == "" and "Traceback" not in shown.err
    assert told in shown.err


def test_words_nobody_knows_are_told_as_json_too(tmp_path: Path) -> None:
    shown = invoke("play", "x.yaml", "--json", "--bogus", state=tmp_path)
    assert shown.code == 5 and shown.data["exit_code"] == 5


def test_every_verb_is_listed_with_what_it_does(tmp_path: Path) -> None:
    shown = invoke("--list", state=tmp_path)
    for name in (
        "play",
        "run",
        "inventory.show",
        "hosts.trust",
        "runs.list",
        "runs.show",
        "modules.list",
        "modules.show",
        "sandbox.up",
        "sandbox.down",
        "sandbox.status",
    ):
        assert f"  {name} " in shown.out
    words = " ".join(shown.out.split())  # lines are wrapped
    assert "resources of the role" not in words, "a role that says nothing of what it manages"


def test_several_verbs_of_different_groups_stand_on_one_line(tmp_path: Path) -> None:
    both = invoke("runs.list", "modules.list", state=tmp_path)
    assert both.code == 0 and "k8s.manifest" in both.out, both.text
    assert invoke("runs.list", "eks.creat", state=tmp_path).code == 5


@pytest.mark.parametrize("kept", [True, False])
def test_a_start_compiles_what_changed_once_and_not_each_time(tmp_path: Path, kept: bool) -> None:
    for part in ("playrunner", "roles"):
        shutil.copytree(
            REPOSITORY / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(REPOSITORY / "tasks.py", tmp_path)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "" if kept else "1"}
    subprocess.run(
        [sys.executable, "-m", "invoke", "--list"],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    compiled = {path.name.split(".")[0] for path in (tmp_path / "playrunner").rglob("*.pyc")}
    assert compiled >= {"flags", "audit", "play"} if kept else not compiled
