"""Nodes that share no folder: each keeps a copy of every checkpoint, and the run goes on wherever
one of them is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launch.site import PACE, QUICK, Site
from tests.support.runner import REPOSITORY

HALF = (
    *QUICK,
    "train.steps=8",
    "train.schedule.decay_steps=12",
    "train.device_batch_size=2",
    "train.checkpoint.every=4",
)
WHOLE = (*HALF, "train.steps=12")


class Apart(Site):
    """Launches on nodes with folders of their own."""

    def folder_on(self, host: str, name: str) -> Path:
        return self.state / "sandbox" / "nodes" / host / "training" / "runs" / name

    def checkpoints(self, host: str, name: str) -> dict[str, list[str]]:
        """A node's complete checkpoints, and the files of each."""
        found = sorted(
            (self.folder_on(host, name) / "output" / "checkpoints").glob("step-*/complete.json")
        )
        return {path.parent.name: sorted(json.loads(path.read_text())["files"]) for path in found}

    def losses_on(self, host: str, name: str) -> dict[int, float]:
        records = map(
            json.loads,
            (self.folder_on(host, name) / "output" / "metrics.jsonl").read_text().splitlines(),
        )
        return {each["step"]: each["loss"] for each in records if "loss" in each}


@pytest.fixture(scope="module")
def apart(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    inventory = tmp_path_factory.mktemp("apart") / "apart.yaml"
    text = (REPOSITORY / "inventories" / "local.yaml").read_text()
    inventory.write_text(text.replace("{{ sandbox_state }}/shared", "{{ scratch }}/training"))
    assert site.invoke("sandbox.up", "--nodes", 4).code == 0
    yield Apart(site.state, inventory)


@pytest.mark.parametrize("strategy", ["ddp", "fsdp", "deepspeed"])
def test_every_node_has_every_checkpoint_and_the_run_goes_on_elsewhere(
    site: Site, apart: Apart, strategy: str
) -> None:
    chosen = f"train.strategy.name={strategy}"
    together = site.launch(f"together-{strategy}", "--nodes", 2, settings=(*WHOLE, chosen))
    assert together.code == 0, together.text
    name = f"apart-{strategy}"
    half = apart.launch(name, "--nodes", 2, settings=(*HALF, chosen))
    assert half.code == 0, half.text
    first, second = (apart.checkpoints(host, name) for host in ("node1", "node2"))
    assert list(first) == ["step-00000004", "step-00000008"]
    assert first == second
    # One node that was there and one that was not: it is sent what it lacks. Then on another number
    # of ranks.
    more = apart.launch(
        name, "--nodes", 2, "--limit", "node2,node3", settings=(*HALF, "train.steps=10", chosen)
    )
    assert more.code == 0, more.text
    assert "resuming from step-00000008" in more.err
    assert set(apart.checkpoints("node3", name)) >= {"step-00000008", "step-00000010"}
    alone = apart.launch(name, "--nodes", 1, "--limit", "node3", settings=(*WHOLE, chosen))
    assert alone.code == 0, alone.text
    assert "resuming from step-00000010" in alone.err
    curve = {
        **apart.losses_on("node1", name),
        **apart.losses_on("node2", name),
        **apart.losses_on("node3", name),
    }
    assert curve == pytest.approx(site.losses(f"together-{strategy}"), abs=1e-4)


def test_a_launch_on_nodes_that_have_none_of_it_is_refused(apart: Apart) -> None:
    assert apart.launch("left", "--nodes", 2, settings=HALF).code == 0
    refused = apart.launch("left", "--nodes", 2, "--limit", "node3,node4", settings=WHOLE)
    assert refused.code == 6, refused.text
    assert (
        "left has its checkpoints (step-00000008) on node1, node2, and no node of this launch sees"
        " them" in refused.err
    )
    assert not apart.folder_on("node3", "left").exists()


def test_where_one_folder_is_required_nodes_without_it_are_told_so(
    apart: Apart, tmp_path: Path
) -> None:
    assert apart.inventory
    strict = tmp_path / "strict.yaml"
    strict.write_text(apart.inventory.read_text() + "    train_shared: true\n")
    refused = Site(apart.state, strict).launch("strict", "--nodes", 2)
    assert refused.code == 2
    assert "is not the same folder on all nodes: node2 cannot be seen from here" in refused.text


def test_status_stop_and_logs_see_all_of_a_run_whose_nodes_are_apart(apart: Apart) -> None:
    begun = apart.launch(
        "scattered", "--nodes", 2, "--detach", settings=(*QUICK, "train.steps=2000", PACE)
    )
    assert begun.code == 0, begun.text
    apart.await_that(
        lambda: "step-00000004" in apart.checkpoints("node2", "scattered"),
        "a copy on the second node",
    )
    where = ("--inventory", apart.inventory)
    seen = apart.invoke("train.status", "--name", "scattered", "--json", *where)
    assert (seen.code, seen.data["nodes"]) == (101, {"node1": "running", "node2": "running"})
    ended = apart.invoke("train.stop", "--name", "scattered", *where)
    assert ended.code == 0, ended.text
    assert "node2 [node] " in apart.invoke("train.logs", "--name", "scattered", "--all", *where).out
    assert apart.checkpoints("node1", "scattered") == apart.checkpoints("node2", "scattered")
