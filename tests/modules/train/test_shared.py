"""train.shared: which nodes of a run see the same folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.training.modules.train import shared
from playrunner.training.modules.train.shared import Shared
from tests.support.host.performing import done, failure


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(shared, "_GLANCE_SECONDS", 0.0)


def seated(folder: Path, **lives: str) -> Path:
    (folder / "markers").mkdir()
    for host, run_id in lives.items():
        (folder / "markers" / host).write_text(run_id)
    return folder


def test_nodes_whose_seats_are_there_share_the_folder(tmp_path: Path) -> None:
    run = seated(tmp_path, node1="x-2", node2="x-2")
    found = done(Shared(run=str(run), hosts=["node1", "node2"], run_id="x-2"))
    assert (found["sees"], found["apart"]) == (["node1", "node2"], False)


def test_each_node_is_told_the_next_one_that_it_sees(tmp_path: Path) -> None:
    run = seated(tmp_path, a="x-2", b="x-1", c="x-2", d="x-2")

    def next_of(host: str) -> str:
        hosts = ["a", "b", "c", "d"]
        return str(done(Shared(run=str(run), host=host, hosts=hosts, run_id="x-2"))["next"])

    assert {host: next_of(host) for host in "abcd"} == {"a": "c", "b": "", "c": "d", "d": "a"}


def test_a_seat_of_an_earlier_life_does_not_count(tmp_path: Path) -> None:
    run = seated(tmp_path, node1="x-2", node2="x-1")
    found = done(Shared(run=str(run), hosts=["node1", "node2", "node3"], run_id="x-2"))
    assert (found["sees"], found["apart"]) == (["node1"], True)


def test_where_one_folder_is_required_the_nodes_that_cannot_be_seen_are_named(
    tmp_path: Path,
) -> None:
    run = seated(tmp_path, node1="x-2")
    failed = failure(Shared(run=str(run), hosts=["node1", "node2"], run_id="x-2", required=True))
    assert "node2 cannot be seen from here" in str(failed)


def test_looking_ahead_nothing_is_known_yet(tmp_path: Path) -> None:
    assert done(Shared(run=str(tmp_path), hosts=["node1"], run_id="x-2"), check=True)["unknown"]
