"""Nodes that only a jump host can reach: every verb works through it, and host keys are verified at
each hop."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.launch.namespaces import Field, Machines, machines
from tests.support.launch.site import PACE

LONG = (
    "train.steps=5000",
    PACE,
    "train.log.every=1",
    "train.checkpoint.every=5",
    "train.evaluate.batches=1",
    "train.schedule.warmup_steps=2",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("machines")) as made:
        outside, inside = made.lane(), made.lane(reachable=False)
        made.add("jump", outside, inside)
        for name in ("node1", "node2"):
            made.add(name, inside)
        yield made


@pytest.fixture(scope="module")
def far(cluster: Machines) -> Iterator[tuple[Field, str]]:
    """A run on both nodes that goes on by itself."""
    assert _greets(cluster.all["jump"].address)
    assert not any(_greets(cluster.all[name].address) for name in ("node1", "node2"))
    with cluster.site(_inventory(cluster)) as field:
        begun = field.launch("far", "--nodes", 2, "--detach", settings=LONG)
        assert begun.code == 0, begun.text
        field.await_step("far", 6)
        yield field, "far"
        field.invoke("train.stop", "--name", "far")


def test_a_run_is_looked_at_through_a_jump_host(far: tuple[Field, str]) -> None:
    field, name = far
    seen = field.invoke("train.status", "--name", name, "--json")
    assert (seen.code, seen.data["nodes"]) == (101, {"node1": "running", "node2": "running"})
    assert "step 6/5000" in field.invoke("train.logs", "--name", name, "--tail", 5000).out
    everything = field.invoke("train.logs", "--name", name, "--all").out
    assert "node1 [0] " in everything
    assert (
        field.invoke("train.env", "--profile", "gpt2-micro-smoke", "--nodes", 2, "--json").code == 0
    )
    why = field.invoke("train.why", "--name", name, "--json")
    assert why.code == 0, why.text
    assert {
        process["rank"] for said in why.data["nodes"].values() for process in said["processes"]
    } >= {0, 1}
    page = field.invoke("train.watch")
    assert page.code == 0, page.text
    assert name in page.out and "running" in page.out and "└" in page.out


def test_the_network_behind_a_jump_host_is_measured(far: tuple[Field, str]) -> None:
    field, _ = far
    measured = field.invoke("train.bench", "--nodes", 2, "--json")
    assert measured.code == 0, measured.text
    assert measured.data["result"]["nodes"] == ["node1", "node2"]
    assert measured.data["result"]["pairs"][0]["gbps"] > 0


def test_the_curves_of_a_run_are_served_through_a_jump_host(far: tuple[Field, str]) -> None:
    field, name = far
    with field.start("train.tensorboard", "--name", name, "--port", 0, "--json") as process:
        assert process.stdout
        said = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        assert (said["name"], said["host"]) == (name, "node1") and said["url"].startswith(
            "http://127.0.0.1:"
        )
        field.await_that(lambda: "train/loss" in _tags(said["url"]), "a curve", process, seconds=60)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert not _answers(said["url"])


def test_a_run_is_stopped_scaled_and_resumed_through_a_jump_host(
    cluster: Machines, far: tuple[Field, str]
) -> None:
    field, name = far
    ended = field.invoke("train.stop", "--name", name)
    assert ended.code == 0, ended.text
    assert field.processes(name) == []
    last = max(field.losses(name))
    scaled = field.invoke("train.scale", "--name", name, "--nodes", 1, "--detach")
    assert scaled.code == 0, scaled.text
    field.await_step(name, last + 2)
    assert field.invoke("train.stop", "--name", name).code == 0
    last = max(field.losses(name))
    resumed = field.invoke(
        "train.resume", "--name", name, "--nodes", 2, "--set", f"train.steps={last + 3}"
    )
    assert resumed.code == 0, resumed.text
    assert f"resuming from step-{last:08d}" in resumed.err
    # The same nodes, with the jump host as ssh spells it.
    with cluster.site(_inventory(cluster, spelled_as_ssh=True)) as again:
        further = again.launch(name, "--nodes", 2, settings=(*LONG, f"train.steps={last + 6}"))
    assert further.code == 0, further.text
    assert set(field.losses(name)) == set(range(1, last + 7))


def test_an_environment_is_made_through_a_jump_host(cluster: Machines) -> None:
    venv = cluster.folder / "environment"
    inventory = _inventory(
        cluster,
        file="prepare.yaml",
        train_venv=f"{venv}-{{{{ inventory_hostname }}}}",
        train_venv_command=f"{sys.executable} -m venv",
        train_packages=[str(_wheel(cluster.folder))],
    )
    with cluster.site(inventory) as field:
        made = field.invoke("train.prepare")
        assert made.code == 0, made.text
        again = field.invoke("train.prepare", "--json")
        assert {host: counts["changed"] for host, counts in again.data["recap"].items()} == {
            "node1": 0,
            "node2": 0,
        }
    for host in ("node1", "node2"):
        assert (
            subprocess.run(
                [f"{venv}-{host}/bin/python", "-c", "import little"], check=False
            ).returncode
            == 0
        )


@pytest.mark.parametrize(
    ("impostor", "place"), [("node2", "node2 (root@{}:22 via jump)"), ("jump", "jump (root@{}:22)")]
)
def test_a_wrong_host_key_at_any_hop_is_refused(
    cluster: Machines, impostor: str, place: str
) -> None:
    true, false = (
        cluster.all[impostor].daemon.public_host_key,
        cluster.key.with_suffix(".pub").read_text(),
    )
    wrong = cluster.folder / f"known_hosts_{impostor}"
    wrong.write_text(cluster.known_hosts.read_text().replace(true, " ".join(false.split()[:2])))
    with cluster.site(_inventory(cluster, known_hosts=wrong)) as field:
        refused = field.launch("deceived", "--nodes", 2)
        assert refused.code == 6, refused.text
        assert (
            f"{place.format(cluster.all[impostor].address)}: the host key has CHANGED"
            in refused.err
        )
        assert not field.folder("deceived").exists()
        assert field.invoke("train.status").code == 4


def _wheel(folder: Path) -> Path:
    """A package that needs no network to be installed."""
    path = folder / "little-1.0-py3-none-any.whl"
    about = "little-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("little.py", "")
        made.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: little\nVersion: 1.0\n")
        made.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        made.writestr(f"{about}/RECORD", "")
    return path


def _tags(url: str) -> set[str]:
    with urllib.request.urlopen(f"{url}data/plugin/scalars/tags", timeout=30) as answer:
        return {tag for run in json.load(answer).values() for tag in run}


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def _greets(address: str) -> bool:
    """Whether an sshd answers there from here; a network's gateway may take a connection to
    anywhere."""
    try:
        with socket.create_connection((address, 22), timeout=1) as line:
            return line.recv(4) == b"SSH-"
    except OSError:
        return False


def _inventory(
    cluster: Machines,
    *,
    spelled_as_ssh: bool = False,
    known_hosts: Path | None = None,
    file: str = "",
    **variables: Any,
) -> Path:
    jump = cluster.all["jump"]
    known = (
        f"-F none -o UserKnownHostsFile={known_hosts or cluster.known_hosts} -o"
        " StrictHostKeyChecking=yes"
    )
    hop = (
        {"ansible_ssh_common_args": f"{known} -i {cluster.key} -J root@{jump.address}"}
        if spelled_as_ssh
        else {"ansible_ssh_common_args": known, "via": "jump"}
    )
    return cluster.inventory(
        "node1",
        "node2",
        file=file or f"{'ssh' if spelled_as_ssh else 'via'}.yaml",
        **hop,
        **variables,
        hosts={"jump": {"ansible_host": jump.address, "ansible_ssh_common_args": known}},
    )
