"""Which backend a verb uses, and what exists on clusters only."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.training.backend import choose_backend, chosen_launcher, cluster_backend
from playrunner.training.runs.record import Record


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)


def options(tmp_path: Path, **variables: str) -> Options:
    lines = "".join(f"    {name}: {value}\n" for name, value in variables.items())
    file = tmp_path / "inventory.yaml"
    file.write_text("all:\n  hosts: {node1: {}}\n" + (f"  vars:\n{lines}" if lines else ""))
    return Options(inventory=(str(file),))


def test_the_inventory_decides_where_nothing_else_does(tmp_path: Path) -> None:
    assert choose_backend(options(tmp_path)).name == "ssh"
    assert choose_backend(options(tmp_path, train_launcher="vcjob")).name == "cluster"


@pytest.mark.parametrize(
    ("profile", "launcher"),
    [
        ("llama2-7b", "pytorchjob"),
        ("bert-large", "vcjob"),
        ("gpt2-elastic", "elasticjob"),
        ("gpt2-micro", ""),  # DeepSpeed's own launcher goes over SSH
    ],
)
def test_a_profile_s_own_launcher_counts_where_the_inventory_has_neither_launcher_nor_hosts(
    profile: str, launcher: str, tmp_path: Path
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("all:\n  vars: {kube_context: fsdp}\n")
    bare = Options(inventory=(str(file),))
    assert chosen_launcher(bare, "", profile) == launcher
    assert chosen_launcher(bare, "job", profile) == "job"
    assert chosen_launcher(options(tmp_path), "", profile) == "", "it has hosts to train on"
    assert chosen_launcher(options(tmp_path, train_launcher="job"), "", profile) == "job"


def test_a_run_s_record_wins_over_the_inventory(tmp_path: Path) -> None:
    here = options(tmp_path, train_launcher="vcjob")
    Record("old").begin({"name": "old", "launcher": "torchrun", "created": 1.0})
    Record("new").begin({"name": "new", "launcher": "job", "created": 2.0})
    assert choose_backend(here, run="old").name == "ssh"
    assert choose_backend(here, run="new").name == "cluster"
    assert choose_backend(here, run="").name == "cluster", "the newest one"
    assert choose_backend(here, run="unknown").name == "cluster", "as the inventory says"


def test_verbs_of_clusters_say_so_over_ssh(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"train\.stage works on clusters only: set train_launcher"):
        cluster_backend("stage", options(tmp_path))
    Record("old").begin({"name": "old", "launcher": "torchrun", "created": 1.0})
    with pytest.raises(BadInput, match="clusters only, and the run old uses torchrun over SSH"):
        cluster_backend("top", options(tmp_path), run="old")
    assert (
        cluster_backend("top", options(tmp_path, train_launcher="job"), run="x").name == "cluster"
    )
