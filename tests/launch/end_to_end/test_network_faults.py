"""Runs whose machines lose their power, their network or their disk: what is seen, how soon, and
what is left."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launch.namespaces import Field, Machines, machines
from tests.support.launch.site import PACE
from tests.support.until import until

LEASE_SECONDS = 8
LONG = (
    "train.steps=5000",
    PACE,
    "train.log.every=1",
    "train.checkpoint.every=5",
    "train.evaluate.batches=1",
    "train.batch_size=6",
    "train.device_batch_size=1",
    "train.checkpoint.keep=3",
    "train.schedule.warmup_steps=2",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("machines")) as made:
        made.disk("small", "32m")
        lane = made.lane()
        for name in ("node1", "node2", "node3"):
            made.add(name, lane)
        yield made


@pytest.fixture
def field(cluster: Machines) -> Iterator[Field]:
    with cluster.site(
        cluster.inventory("node1", "node2", "node3", train_lease_seconds=LEASE_SECONDS)
    ) as made:
        yield made


def test_a_node_without_power_is_seen_and_named_and_the_others_end(
    cluster: Machines, field: Field
) -> None:
    running = field.begin("dark", "--nodes", 3, settings=LONG)
    field.await_step("dark", 6, running)
    since = time.monotonic()
    cluster.power_off("node3")
    try:
        field.await_that(
            lambda: field.supervisor("dark", "node1").get("cause") is not None,
            "the first node's word",
        )
        assert time.monotonic() - since < 5
        assert field.supervisor("dark", "node1")["cause"]["node"] == "node3"
        field.await_that(
            lambda: not field.processes("dark"), "the end of all processes", seconds=10
        )
        out, err = running.communicate(timeout=30)
        assert running.returncode == 100, out + err
        assert "dark failed. node3: has not been heard from for" in err
        seen = field.invoke("train.status", "--name", "dark", "--json")
        assert seen.code == 100
        assert seen.data["nodes"] == {"node1": "failed", "node2": "failed", "node3": "unknown"}
        assert seen.data["silent"] == ["node3"]
    finally:
        cluster.power_on("node3")
        until(cluster.all["node3"].answers, what="node3 answers")
    assert field.invoke("train.status", "--name", "dark", "--json").data["nodes"]["node3"] == "lost"


def test_a_first_node_without_power_is_seen_and_named_and_the_others_end(
    cluster: Machines, field: Field
) -> None:
    running = field.begin("headless", "--nodes", 2, settings=LONG)
    field.await_step("headless", 6, running)
    since = time.monotonic()
    cluster.power_off("node1")
    try:
        said = _until(running, "node1: nothing heard")
        assert time.monotonic() - since < 5, said
        field.await_that(
            lambda: not field.processes("headless"),
            "the end of all processes",
            seconds=LEASE_SECONDS + 6,
        )
        out, err = running.communicate(timeout=30)
        assert running.returncode == 100, said + out + err
        assert "headless failed. node1: has not been heard from for 8 s" in err
    finally:
        cluster.power_on("node1")
        until(cluster.all["node1"].answers, what="node1 answers")


def test_a_cut_link_is_seen_and_the_far_processes_end_by_themselves_and_the_run_resumes(
    cluster: Machines, field: Field
) -> None:
    running = field.begin("cut", "--nodes", 2, settings=LONG)
    _await_checkpoint(field, "cut", running)
    since = time.monotonic()
    cluster.cut("node2")
    try:
        field.await_that(
            lambda: field.supervisor("cut", "node1").get("cause") is not None,
            "the first node's word",
        )
        assert time.monotonic() - since < 10
        field.await_that(
            lambda: field.supervisor("cut", "node2")["state"] == "failed",
            "the far end",
            seconds=LEASE_SECONDS + 6,
        )
        assert (
            "the first node has not been heard from for 8 s"
            in field.supervisor("cut", "node2")["reason"]
        )
        field.await_that(lambda: not field.processes("cut"), "the end of all processes", seconds=5)
        out, err = running.communicate(timeout=30)
        assert running.returncode == 100, out + err
        assert "cut failed. node2: has not been heard from for" in err
    finally:
        cluster.mend("node2")
    seen = field.invoke("train.status", "--name", "cut", "--json")
    assert seen.data["nodes"] == {"node1": "failed", "node2": "failed"}
    assert seen.data["silent"] == []
    last = seen.data["step"]
    resumed = field.launch("cut", "--nodes", 2, settings=(*LONG, f"train.steps={last + 4}"))
    assert resumed.code == 0, resumed.text
    assert f"resuming from {seen.data['checkpoints'][-1]}" in resumed.err
    assert set(field.losses("cut")) == set(range(1, last + 5))


def test_a_full_disk_is_named_and_earlier_checkpoints_stay_whole(
    cluster: Machines, field: Field
) -> None:
    disk = cluster.folder / "small"
    field.folder("full").mkdir(parents=True)
    (field.folder("full") / "output").symlink_to(disk)
    running = field.begin("full", "--nodes", 2, settings=LONG)
    _await_checkpoint(field, "full", running)
    _fill(disk)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 100, out + err
    assert re.search(r"full failed\. node[12]: rank [01] ended with code 1", err), err
    assert "No space left on device" in err, err
    field.await_that(lambda: not field.processes("full"), "the end of all processes", seconds=5)
    seen = field.invoke("train.status", "--name", "full", "--json").data["checkpoints"]
    (disk / "ballast").unlink()
    last = int(seen[-1].removeprefix("step-")) + 2
    resumed = field.launch("full", "--nodes", 2, settings=(*LONG, f"train.steps={last}"))
    assert resumed.code == 0, resumed.text
    assert f"resuming from {seen[-1]}" in resumed.err
    assert set(field.losses("full")) == set(range(1, last + 1))


def test_a_node_that_cannot_write_its_log_says_so_and_the_run_ends(
    cluster: Machines, field: Field
) -> None:
    own = field.folder("mute") / "nodes" / "node1"
    with cluster.small_disk("node1", own, "1m") as disk:
        running = field.begin("mute", "--nodes", 2, settings=LONG)
        field.await_step("mute", 2, running)
        _fill(disk)
        out, err = running.communicate(timeout=60)
        assert running.returncode == 100, out + err
        assert "mute failed. node1: its log cannot be written: No space left on device" in err
        assert field.supervisor("mute", "node2")["state"] == "failed"
        field.await_that(lambda: not field.processes("mute"), "the end of all processes", seconds=5)


def test_a_slow_node_is_named_before_the_run_begins(cluster: Machines, field: Field) -> None:
    cluster.slow("node3", "20mbit")
    try:
        refused = field.launch("slow", "--nodes", 3, settings=LONG)
    finally:
        cluster.hasten("node3")
        released = field.invoke("nodes.release", "node3")
    assert refused.code == 6, refused.text
    assert "the network check failed: node3 is slow to 2 of 2 nodes" in refused.err
    assert (
        "there is no spare, so the network is checked again before node3 is quarantined"
        in refused.err
    )
    assert "node3: named by 2 network checks and quarantined for 24h" in refused.err
    assert "invoke nodes.release node3" in refused.err and "node3 may be used again" in released.out
    assert not (field.folder("slow") / "output" / "metrics.jsonl").exists()
    assert field.processes("slow") == []


def _await_checkpoint(field: Field, name: str, running: subprocess.Popen[str]) -> None:
    whole = field.folder(name) / "output" / "checkpoints" / "step-00000005" / "complete.json"
    field.await_that(whole.exists, "the first checkpoint", running)


def _fill(disk: Path) -> None:
    """Until nothing more fits."""
    with (disk / "ballast").open("wb", buffering=0) as ballast:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while ballast.write(bytes(size)) == size:
                    pass
            except OSError:
                continue


def _until(process: subprocess.Popen[str], text: str) -> str:
    """What a program says, up to the line with this text."""
    assert process.stderr
    said = []
    for line in process.stderr:
        said.append(line)
        if text in line:
            return "".join(said)
    raise AssertionError(f"it ended without saying {text!r}: {''.join(said)}")
