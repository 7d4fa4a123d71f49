"""A damaged record is read as far as it goes: what cannot be read is left out, with one warning,
and nothing is raised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playrunner.record.past_runs import MOST_LINE, Unreadable, events, runs
from tests.support.runner import Outcome, invoke

GOOD = [
    {"at": 1700000000.5, "event": "run", "command": "play site.yaml", "pid": 5},
    {
        "at": 1700000001.0,
        "event": "outcome",
        "host": "a",
        "step": "s",
        "status": "failed",
        "msg": "it broke",
    },
    {"at": 1700000002, "event": "end", "exit_code": 2, "seconds": 1.5},
]
RECAP = {"run_id": "r", "exit_code": 2, "seconds": 1.5, "recap": {"a": {"ok": 1, "failed": 1}}}
BROKEN: dict[str, bytes] = {
    "a bare number": b"5",
    "null": b"null",
    "a list": b"[]",
    "a text": b'"run"',
    "true": b"true",
    "an empty mapping": b"{}",
    "half of a line": b'{"at": 1, "event": "outco',
    "no JSON": b"hello",
    "no UTF-8": b"\xff\xfe\x00",
    "zeros": b"\0" * 4096,
    "a time that is text": b'{"at": "now", "event": "run"}',
    "a time that is no number": b'{"at": NaN, "event": "run"}',
    "a time after all clocks": b'{"at": 1e300, "event": "run"}',
    "a time before them": b'{"at": -5, "event": "run"}',
    "a kind that is a list": b'{"at": 1, "event": []}',
    "a command that is a mapping": b'{"at": 1, "event": "run", "command": {}}',
    "a host that is a number": b'{"at": 1, "event": "outcome", "host": 5}',
    "deep": b"[" * 100_000,
    "deep in a field": b'{"at": 1, "event": "run", "more": ' + b"[" * 500 + b"]" * 500 + b"}",
    "a number without end": b'{"at": ' + b"9" * 10_000 + b', "event": "run"}',
}
RECAPS: dict[str, Any] = {
    "a number": 5,
    "a list": [],
    "text": "done",
    "a code that is text": {"exit_code": "2"},
    "seconds that are text": {"exit_code": 0, "seconds": "long"},
    "counts that are a list": {"recap": []},
    "a host's counts that are a number": {"recap": {"a": 5}},
    "a count that is text": {"recap": {"a": {"ok": "x"}}},
}


def record(state: Path, lines: list[bytes], recap: bytes = json.dumps(RECAP).encode()) -> Path:
    folder = state / "runs" / "20240101-000000-abcdef"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(b"\n".join(lines))
    (folder / "recap.json").write_bytes(recap)
    return folder


def good() -> list[bytes]:
    return [json.dumps(one).encode() for one in GOOD]


@pytest.mark.parametrize("where", [0, 1, 3])
@pytest.mark.parametrize("broken", BROKEN)
def test_a_line_that_is_no_event_is_left_out_and_counted(
    broken: str, where: int, tmp_path: Path
) -> None:
    lines = good()
    lines.insert(where, BROKEN[broken])
    folder, unreadable = record(tmp_path, lines), Unreadable()
    assert list(events(folder, unreadable)) == GOOD
    assert (
        unreadable.warning()
        == f"{folder / 'events.jsonl'}:{where + 1} is no record of a run and is left out"
    )
    assert runs(tmp_path)[0].command == "play site.yaml"


def test_a_line_larger_than_any_real_one_is_left_out_without_being_taken_into_memory(
    tmp_path: Path,
) -> None:
    huge = b'{"at": 1, "event": "run", "command": "' + b"a" * (MOST_LINE + 5) + b'"}'
    folder = record(tmp_path, [huge, *good()])
    assert list(events(folder)) == GOOD


@pytest.mark.parametrize("recap", RECAPS)
def test_a_recap_of_another_shape_is_that_of_a_run_that_did_not_end(
    recap: str, tmp_path: Path
) -> None:
    record(tmp_path, good(), json.dumps(RECAPS[recap]).encode())
    unreadable = Unreadable()
    assert (
        runs(tmp_path, unreadable)[0].recap == {}
        and "recap.json is no record" in unreadable.warning()
    )


def test_fields_that_are_null_are_fields_that_are_not_there(tmp_path: Path) -> None:
    record(
        tmp_path,
        good(),
        b'{"exit_code": 0, "seconds": null, "recap": {"a": {"ok": null}, "b": null}}',
    )
    assert runs(tmp_path)[0].recap == {"exit_code": 0, "recap": {"a": {}}}


def test_folders_that_are_no_runs_and_files_that_may_not_be_read_are_no_trouble(
    tmp_path: Path,
) -> None:
    folder = record(tmp_path, good())
    (folder.parent / "zzz").mkdir()
    (folder.parent / "events.jsonl").mkdir()
    (folder.parent / "yyy" / "events.jsonl").mkdir(parents=True)
    (folder.parent / "yyy" / "recap.json").mkdir()
    assert [run.run_id for run in runs(tmp_path)] == ["zzz", "yyy", "events.jsonl", folder.name]
    assert runs(tmp_path / "nothing") == []


def both(state: Path) -> list[Outcome]:
    return [
        invoke("runs.list", state=state),
        invoke("runs.show", "--events", state=state),
        invoke("runs.show", "--json", state=state),
    ]


def test_the_verbs_show_what_is_left_with_one_warning(tmp_path: Path) -> None:
    record(tmp_path, [b"5", *good(), b"7", b'{"half'])
    listed, shown, as_json = both(tmp_path)
    for outcome in (listed, shown, as_json):
        assert outcome.code == 0 and "Traceback" not in outcome.text, outcome.text
        assert outcome.err.count("warning:") == 1 and len(outcome.err.strip().splitlines()) == 1, (
            outcome.err
        )
    assert (
        "play site.yaml" in listed.out
        and "it broke" in shown.out
        and as_json.data["events"] == GOOD
    )
