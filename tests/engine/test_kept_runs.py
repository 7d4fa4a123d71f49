"""How many run folders are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.record.ledger import KEPT_RUNS, Ledger
from playrunner.record.past_runs import Unreadable, runs
from playrunner.results import Recap


def recorded(state: Path, earlier: int) -> list[str]:
    """The runs that are left when a run ends, of so many before it and its own."""
    for number in range(earlier):
        (state / "runs" / f"20200101-{number:06d}-abcdef").mkdir(parents=True, exist_ok=True)
    Ledger("play site.yaml", state).close(Recap(), 0, 1.0)
    return sorted(each.name for each in (state / "runs").iterdir() if not each.is_symlink())


def test_more_runs_are_kept_than_a_page_lists(tmp_path: Path) -> None:
    assert len(recorded(tmp_path, 1200)) == 1201
    assert KEPT_RUNS > 1000


def test_the_setting_says_how_many_of_the_newest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYRUNNER_KEPT_RUNS", "0")
    assert len(recorded(tmp_path, 5)) == 6
    monkeypatch.setenv("PLAYRUNNER_KEPT_RUNS", "3")
    left = recorded(tmp_path, 5)
    assert len(left) == 3 and left[0] == "20200101-000004-abcdef"
    assert (tmp_path / "runs" / "latest").resolve().name in left


@pytest.mark.parametrize("given", ["many", "-1", "1.5", "²"])
def test_a_setting_that_is_no_number_is_refused_before_anything_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("PLAYRUNNER_KEPT_RUNS", given)
    with pytest.raises(BadInput, match="PLAYRUNNER_KEPT_RUNS"):
        Ledger("play site.yaml", tmp_path)
    assert not (tmp_path / "runs").exists()


def test_a_record_of_version_0_1_is_read_and_one_of_a_newer_version_is_left_out(
    tmp_path: Path,
) -> None:
    old = tmp_path / "runs" / "20250101-000000-abcdef"
    old.mkdir(parents=True)
    started = '{"at": 1735689600.0, "event": "run", "command": "play site.yaml", "pid": 7}\n'
    (old / "events.jsonl").write_text(started)
    (old / "recap.json").write_text(
        '{"run_id": "20250101-000000-abcdef", "exit_code": 2, "seconds": 3.5,'
        ' "recap": {"web1": {"ok": 1, "failed": 1}}}'
    )
    newer = tmp_path / "runs" / "20990101-000000-abcdef"
    newer.mkdir()
    (newer / "events.jsonl").write_text(started.replace('"pid": 7', '"pid": 7, "format": 99'))
    unreadable = Unreadable()
    newest, oldest = runs(tmp_path, unreadable)
    assert (oldest.command, oldest.recap["exit_code"]) == ("play site.yaml", 2)
    assert newest.command == "" and "newer playrunner" in unreadable.warning()
