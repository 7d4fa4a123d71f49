"""docs/aws-account.md: what it says to hold is shown by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.commands.test_pains import functions_of

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| (\d+) \| .+? \| ((?:`tests/[\w/]+\.py::\w+` ?)+)\|$", re.MULTILINE)


def test_all_that_must_hold_in_an_account_is_shown_by_tests() -> None:
    rows = _ROW.findall((ROOT / "docs" / "aws-account.md").read_text())
    assert [int(number) for number, _ in rows] == list(range(1, 32))
    for number, shown in rows:
        for file, name in re.findall(r"`(\S+)::(\w+)`", shown):
            assert name in functions_of(file), f"{number}: {file} has no {name}"
