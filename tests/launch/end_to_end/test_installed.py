"""The commands that README.md gives for an installed package, in an empty folder."""

from __future__ import annotations

import re

import pytest

from tests.support.installed import (  # noqa: F401 - fixtures
    Project,
    project,
    python,
    sandbox,
    wheel,
)
from tests.support.runner import REPOSITORY

COMMANDS = re.compile(r"^playrunner ([^#\n]+)", re.MULTILINE)


@pytest.mark.processes
def test_the_commands_of_the_readme_train_a_model_in_an_empty_folder(sandbox: Project) -> None:
    section = (REPOSITORY / "README.md").read_text().partition("## Installed\n")[2]
    commands = COMMANDS.findall(section.partition("\n## ")[0])
    assert len(commands) == 3
    for command in commands:
        done = sandbox.playrunner(*command.split())
        assert done.code == 0, done.text
    assert "is done: loss" in done.err
    assert "playrunner train.logs --name gpt2-micro-smoke" in done.err
    logs = sandbox.playrunner("train.logs", "--name", "gpt2-micro-smoke")
    assert logs.code == 0 and logs.out.strip()
    stated = sandbox.playrunner("train.status", "--json")
    assert stated.code == 0 and "finished" in stated.out
