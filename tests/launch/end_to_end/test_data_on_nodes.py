"""Data brought to nodes over SSH: from the sandbox's stand-ins, from a folder of the user's; a
launch without it is refused, one with it trains."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launch.site import SHORT, Site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two nodes behind real sshd on loopback; they share a folder, as the sandbox's nodes do."""
    made = Site(tmp_path_factory.mktemp("data"))
    yield made
    made.invoke("sandbox.down", "--yes")


def test_what_a_profile_reads_is_refused_when_missing_staged_once_and_trained_on(
    site: Site,
) -> None:
    early = site.launch("digits", "--nodes", 2, profile="mnist-mlp", settings=SHORT)
    assert early.code == 6, early.text
    assert "data.path /app/MNIST: no such file or folder on node1, node2" in early.text
    assert "bring it with: invoke train.stage --profile mnist-mlp" in early.text
    assert not site.folder("digits").exists()

    looked = site.invoke("train.stage", "--profile", "mnist-mlp", "--check", "--json")
    assert (looked.code, looked.data["state"]) == (0, "checked"), looked.text
    assert not (site.shared / "data").exists()

    first = site.invoke("train.stage", "--profile", "mnist-mlp", "--json")
    assert (first.code, first.data["changed"], first.data["files"]) == (0, True, 4), first.text
    marker = json.loads((site.shared / "data" / "MNIST" / "staged.json").read_text())
    assert set(marker["sha256"]) == set(marker["files"]) and marker["bytes"] == first.data["bytes"]
    assert marker["source"]["address"].startswith("http://127.0.0.1:")
    again = site.invoke("train.stage", "--profile", "mnist-mlp", "--json")
    assert (again.code, again.data["changed"]) == (0, False), again.text

    trained = site.launch("digits", "--nodes", 2, profile="mnist-mlp", settings=SHORT)
    assert trained.code == 0, trained.text
    assert sorted(site.losses("digits")) == [1, 2, 3, 4]


def test_a_folder_of_this_machine_is_sent_to_the_nodes_and_only_changes_are_sent_again(
    site: Site, tmp_path: Path
) -> None:
    own = tmp_path / "texts"
    (own / "more").mkdir(parents=True)
    (own / "a.txt").write_text("some text\n" * 20_000)
    (own / "more" / "b.txt").write_text("other text\n")
    words = ("train.stage", "--profile", "gpt2-elastic", "--source", own, "--json")
    first = site.invoke(*words)
    assert (first.code, first.data["changed"], first.data["files"]) == (0, True, 2), first.text
    staged = site.shared / "data" / "text"
    assert (staged / "a.txt").read_bytes() == (own / "a.txt").read_bytes()
    assert (staged / "more" / "b.txt").read_text() == "other text\n"
    again = site.invoke(*words)
    assert (again.code, again.data["changed"]) == (0, False), again.text
    (own / "more" / "b.txt").write_text("another text\n")
    third = site.invoke(*words)
    assert (third.code, third.data["changed"]) == (0, True), third.text
    assert (staged / "more" / "b.txt").read_text() == "another text\n"


def test_bad_requests_are_refused_before_a_node_is_touched(site: Site) -> None:
    nothing = site.invoke("train.stage")
    assert nothing.code == 5 and "say what to stage: --profile P" in nothing.text
    unknown = site.invoke("train.stage", "--dataset", "mnst")
    assert unknown.code == 5 and 'did you mean "mnist"?' in unknown.text
    nowhere = site.invoke("train.stage", "--source", "/no/such/folder", "--into", "x")
    assert nowhere.code == 5 and "no such folder on this machine" in nowhere.text
    secret = site.invoke("train.stage", "--source", "https://me:secret@host/x.tar", "--into", "x")
    assert secret.code == 5 and "secret" not in secret.text


def test_the_whole_micro_model_is_fitted_to_this_machine_as_it_is_typed(site: Site) -> None:
    done = site.invoke("train.launch", "--profile", "gpt2-micro", "--check")
    assert done.code == 0, done.text
    for replaced in ("precision fp32 in place of fp16", "as 5 minutes allow", "in place of 64"):
        assert replaced in done.text
    assert not site.folder("gpt2-micro").exists(), "--check starts nothing"
