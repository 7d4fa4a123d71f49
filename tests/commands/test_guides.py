"""docs/guides.md: every step of a guide has a command that exists and a test that is there to
fail."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support import runner

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| (.+?) \| `invoke (.+?)` \| `(tests/[\w/]+\.py)::(\w+)` \|$")


def rows() -> list[tuple[str, str, str, str]]:
    lines = [
        line
        for line in (ROOT / "docs" / "guides.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| step ")
    ]
    found = [(line, _ROW.match(line)) for line in lines]
    assert not [line for line, row in found if row is None], "a row without command or test"
    return [(row[1], row[2], row[3], row[4]) for _, row in found if row]


@pytest.mark.parametrize(("step", "command", "file", "test"), rows())
def test_a_step_is_held_by_a_test(step: str, command: str, file: str, test: str) -> None:
    assert test in _tests_of(file), f"{step}: {file} has no {test}"
    for playbook in re.findall(r"playbooks/\S+", command):
        assert (ROOT / playbook).is_file(), playbook
    for inventory in re.findall(r"--inventory (\S+)", command):
        assert (ROOT / "inventories" / f"{inventory}.yaml").is_file(), inventory


def test_every_command_exists(tmp_path: Path) -> None:
    listed = runner.invoke("--list", state=tmp_path).text
    known = set(re.findall(r"^\s+([\w.-]+)", listed, re.MULTILINE))
    assert {command.split()[0] for _, command, _, _ in rows()} - known == set()


@cache
def _tests_of(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
