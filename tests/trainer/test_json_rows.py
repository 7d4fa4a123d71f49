"""Large JSON files row by row."""

from __future__ import annotations

import json
import tracemalloc
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from trainer.config import Data
from trainer.data.documents import documents
from trainer.data.json_rows import rows
from trainer.errors import BadInput

TEXTS = [
    {"text": f"row {number} " + 'ä"\\] , {' * (number % 7), "n": number} for number in range(50)
]
ROWS: list[Any] = [*TEXTS, 12, -1.5e3, "x", None]


@pytest.mark.parametrize(
    "whole",
    [
        ROWS,
        {"data": ROWS},
        {"version": "1", "data": ROWS, "after": {"data": [1, 2]}},
        [],
        {"data": []},
        [["x" * 3_000_000, 5], 6],
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_rows_are_those_the_whole_file_holds(
    whole: Any, indent: int | None, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps(whole, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    assert list(rows(tmp_path / "a.json")) == (whole["data"] if isinstance(whole, dict) else whole)


def test_numbers_are_whole_wherever_a_block_ends(tmp_path: Path) -> None:
    for spaces in range(1 << 20, (1 << 20) - 12, -1):
        (tmp_path / "a.json").write_text("[" + " " * (spaces - 3) + "1234567, 89]")
        assert list(rows(tmp_path / "a.json")) == [1234567, 89]


def test_a_file_is_not_held_in_memory(tmp_path: Path) -> None:
    text = "some words " * 1000
    with (tmp_path / "a.json").open("w") as file:
        file.write('{"data": [' + ", ".join(json.dumps({"text": text}) for _ in range(3000)) + "]}")
    tracemalloc.start()
    try:
        assert (
            sum(1 for _ in documents(Data(source="folder", path=str(tmp_path / "a.json")), "train"))
            == 3000
        )
        assert (
            tracemalloc.get_traced_memory()[1]
            < 12_000_000
            < (tmp_path / "a.json").stat().st_size / 2.5
        )
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "content",
    [
        '[{"text": "a"}, {"text"',
        '[{"text": "a"} {"text": "b"}]',
        '{"rows": []}',
        "[1",
        "",
        '{"data": 5}',
        '{"data" []}',
    ],
)
def test_what_is_no_such_file_is_said_and_not_hung_on(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(BadInput, match=r"a\.json: not the \.json expected"):
        list(islice(documents(Data(source="folder", path=str(tmp_path / "a.json")), "train"), 9))
