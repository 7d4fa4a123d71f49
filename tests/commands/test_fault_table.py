"""docs/faults.md: every fault has tests that are there to fail."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEAST = 30


def test_every_fault_of_the_list_is_held_by_tests_that_exist() -> None:
    lines = (ROOT / "docs" / "faults.md").read_text().splitlines()
    rows = [line for line in lines if re.match(r"\| \d+ \|", line)]
    numbers = [int(row.split("|")[1]) for row in rows]
    assert numbers == list(range(1, len(rows) + 1)) and len(rows) >= LEAST
    for row in rows:
        tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert tests, f"no test in: {row}"
        for file, name in tests:
            assert f"\ndef {name}(" in (ROOT / file).read_text(), f"{file} has no {name}"
