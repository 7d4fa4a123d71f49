"""docs/pains.md: every pain has a command that exists and a test that is there to fail."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support import runner

ROOT = Path(__file__).parents[2]
_ROW = re.compile(
    r"^\| (\d+) \| (.+?) \| `invoke (.+?)` \| (.+?) \| `(tests/[\w/]+\.py)::(\w+)` \|$"
)


@dataclass(frozen=True)
class Row:
    number: int
    pain: str
    command: str
    test_file: str
    test_name: str


def rows() -> list[Row]:
    lines = [
        line
        for line in (ROOT / "docs" / "pains.md").read_text().splitlines()
        if re.match(r"\| \d", line)
    ]
    found = [(line, _ROW.match(line)) for line in lines]
    unread = [line for line, row in found if row is None]
    assert not unread, f"no command and test in: {unread}"
    return [Row(int(row[1]), row[2], row[3], row[5], row[6]) for _, row in found if row]


def test_every_pain_of_the_guides_has_its_row() -> None:
    assert [row.number for row in rows()] == list(range(1, 74))


@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row.number))
def test_a_pain_is_shown_to_be_gone_by_a_test(row: Row) -> None:
    assert row.test_name in functions_of(row.test_file), f"{row.test_file} has no {row.test_name}"


def test_every_command_that_removes_one_exists(tmp_path: Path) -> None:
    known = _commands(tmp_path)
    assert {row.command.split()[0] for row in rows()} - set(known) == set()
    for row in rows():
        for playbook in re.findall(r"playbooks/\S+", row.command):
            assert (ROOT / playbook).is_file(), playbook
        for flag in re.findall(r"--[\w-]+", row.command):
            shown = runner.invoke(row.command.split()[0], "--help", state=tmp_path).text
            assert flag in shown, f"{row.command}: no {flag}"


@cache
def functions_of(name: str) -> frozenset[str]:
    tree = ast.parse((ROOT / name).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _commands(state: Path) -> set[str]:
    listed = runner.invoke("--list", state=state)
    return {
        words[0]
        for line in listed.out.splitlines()
        if line.startswith("  ") and (words := line.split())
    }
