"""Documents with numbered points: what each says to hold is shown by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands.test_pains import functions_of

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| (\d+) \| .+? \| ((?:`tests/[\w/]+\.py::\w+` ?)+)\|$", re.MULTILINE)


@pytest.mark.parametrize(
    ("document", "points"), [("aws-account.md", 31), ("shared-cluster.md", 13)]
)
def test_every_point_is_shown_by_tests(document: str, points: int) -> None:
    rows = _ROW.findall((ROOT / "docs" / document).read_text())
    assert [int(number) for number, _ in rows] == list(range(1, points + 1))
    for number, shown in rows:
        for file, name in re.findall(r"`(\S+)::(\w+)`", shown):
            assert name in functions_of(file), f"{number}: {file} has no {name}"
