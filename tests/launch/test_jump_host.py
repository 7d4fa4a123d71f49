"""Nodes that only a jump host can reach: every verb works through it, and host keys are verified at each hop."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launch.namespaces import Field, Machines, machines

LONG = ("train.steps=5000", "train.log.every=1", "train.checkpoint.every=5", "train.evaluate.batches=1",
        "train.schedule.warmup_steps=2")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("machines")) as made:
        outside, inside = made.lane(), made.lane(reachable=False)
        made.add("jump", outside, inside)
        for name in ("node1", "node2"):
            made.add(name, inside)
        yield made


@pytest.fixture
def field(cluster: Machines) -> Iterator[Field]:
    with cluster.site(_inventory(cluster)) as made:
        yield made


def test_every_verb_works_through_a_jump_host(cluster: Machines, field: Field) -> None:
    assert _greets(cluster.all["jump"].address)
    assert not any(_greets(cluster.all[name].address) for name in ("node1", "node2"))
    begun = field.launch("far", "--nodes", 2, "--detach", settings=LONG)
    assert begun.code == 0, begun.text
    field.await_step("far", 6)
    seen = field.invoke("train.status", "--name", "far", "--json")
    assert (seen.code, seen.data["nodes"]) == (101, {"node1": "running", "node2": "running"})
    assert "step 6/5000" in field.invoke("train.logs", "--name", "far", "--tail", 5000).out
    everything = field.invoke("train.logs", "--name", "far", "--all").out
    assert "node1 [0] " in everything and "node2 [" in everything
    assert field.invoke("train.env", "--profile", "gpt2-micro-smoke", "--nodes", 2, "--json").code == 0
    why = field.invoke("train.why", "--name", "far", "--json")
    assert why.code == 0, why.text
    ended = field.invoke("train.stop", "--name", "far")
    assert ended.code == 0, ended.text
    assert field.processes("far") == []
    last = max(field.losses("far"))
    # The same nodes, with the jump host as ssh spells it.
    with cluster.site(_inventory(cluster, spelled_as_ssh=True)) as again:
        resumed = again.launch("far", "--nodes", 2, settings=(*LONG, f"train.steps={last + 3}"))
    assert resumed.code == 0, resumed.text
    assert f"resuming from step-{last:08d}" in resumed.err
    assert set(field.losses("far")) == set(range(1, last + 4))


@pytest.mark.parametrize(("impostor", "place"), [("node2", "node2 (root@{}:22 via jump)"), ("jump", "jump (root@{}:22)")])
def test_a_wrong_host_key_at_any_hop_is_refused(cluster: Machines, impostor: str, place: str) -> None:
    true, false = cluster.all[impostor].daemon.public_host_key, cluster.key.with_suffix(".pub").read_text()
    wrong = cluster.folder / f"known_hosts_{impostor}"
    wrong.write_text(cluster.known_hosts.read_text().replace(true, " ".join(false.split()[:2])))
    with cluster.site(_inventory(cluster, known_hosts=wrong)) as field:
        refused = field.launch("deceived", "--nodes", 2)
        assert refused.code == 6, refused.text
        assert f"{place.format(cluster.all[impostor].address)}: the host key has CHANGED" in refused.err
        assert not field.folder("deceived").exists()
        assert field.invoke("train.status").code == 4


def _greets(address: str) -> bool:
    """Whether an sshd answers there from here; a network's gateway may take a connection to anywhere."""
    try:
        with socket.create_connection((address, 22), timeout=1) as line:
            return line.recv(4) == b"SSH-"
    except OSError:
        return False


def _inventory(cluster: Machines, *, spelled_as_ssh: bool = False, known_hosts: Path | None = None) -> Path:
    jump = cluster.all["jump"]
    known = f"-F none -o UserKnownHostsFile={known_hosts or cluster.known_hosts} -o StrictHostKeyChecking=yes"
    hop = {"ansible_ssh_common_args": f"{known} -i {cluster.key} -J root@{jump.address}"} if spelled_as_ssh else \
        {"ansible_ssh_common_args": known, "via": "jump"}
    return cluster.inventory("node1", "node2", file=f"{'ssh' if spelled_as_ssh else 'via'}.yaml", **hop,
                             hosts={"jump": {"ansible_host": jump.address, "ansible_ssh_common_args": known}})
