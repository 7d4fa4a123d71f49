"""Looking at runs: train.why, train.watch, train.tensorboard and train.bench on nodes of the
sandbox."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.launch.node_processes import processes_with
from tests.support.launch.site import PACE, QUICK, Site
from tests.support.runner import REPOSITORY
from tests.support.terminal import read_to_end, read_until, take_terminal
from tests.support.until import until

LONG = (
    "train.steps=200000",
    PACE,
    "train.log.every=1",
    "train.checkpoint.every=1000",
    "train.evaluate.batches=1",
)


@pytest.fixture(scope="module")
def going_on(site: Site) -> Iterator[str]:
    """A run on two nodes that goes on by itself until the tests are done."""
    begun = site.launch("looked-at", "--nodes", 2, "--detach", settings=LONG)
    assert begun.code == 0, begun.text
    site.await_step("looked-at", 3)
    yield "looked-at"
    site.invoke("train.stop", "--name", "looked-at")


def titles(site: Site, name: str) -> list[str]:
    asked = site.invoke("train.why", "--name", name, "--json")
    assert asked.code == 0, asked.text
    return [cause["title"] for cause in asked.data["causes"]]


def test_why_names_a_suspended_rank_and_how_to_wake_it(site: Site, going_on: str) -> None:
    pid = site.rank(going_on, 1)
    os.kill(pid, signal.SIGSTOP)
    try:
        asked = site.invoke("train.why", "--name", going_on)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert asked.code == 0, asked.text
    first = asked.out.split("\n\n")[1].splitlines()
    assert first[0].startswith("1. rank 1 on node2 is suspended")
    assert "state T" in first[1]
    assert first[-1] == f"   next: kill -CONT {pid} on node2"


def test_why_tells_where_every_rank_stands(site: Site, going_on: str) -> None:
    """A rank that is stopped has said what it was about to do, and the others say what they wait
    in."""
    pid = site.rank(going_on, 1)
    os.kill(pid, signal.SIGSTOP)
    try:
        waiting = site.folder(going_on) / "nodes" / "node1" / "rank-0"
        site.await_that(
            lambda: '"number"' in waiting.read_text(), "rank 0 to tell what it waits in", seconds=30
        )
        asked = site.invoke("train.why", "--name", going_on, "--json").data
    finally:
        os.kill(pid, signal.SIGCONT)
    pulses = {
        process["rank"]: process["pulse"]
        for said in asked["nodes"].values()
        for process in said["processes"]
        if process["rank"] is not None
    }
    assert pulses[1]["step"] <= pulses[0]["step"]
    assert pulses[1]["phase"] in (
        "data",
        "count",
        "forward",
        "backward",
        "optimizer",
        "log",
        "save",
    )
    assert pulses[0]["seconds"] > 3 and pulses[0]["open"][0]["number"] > 0
    evidence = "\n".join(asked["causes"][0]["evidence"])
    assert re.search(r"rank 1 on node2: .*; step \d+, (in|at) ", evidence), evidence
    assert re.search(r"rank 0 on node1: step \d+, in \w+ #\d+ \(\w+\) for \d+ s", evidence), (
        evidence
    )
    site.await_that(lambda: _got_on(site, going_on, pulses[0]["step"]), "more steps", seconds=60)


def test_why_sees_the_processes_of_every_node(site: Site, going_on: str) -> None:
    asked = site.invoke("train.why", "--name", going_on, "--json").data
    assert asked["state"] == "running"
    ranks = {
        process["rank"]: (host, process)
        for host, said in asked["nodes"].items()
        for process in said["processes"]
        if process["rank"] is not None
    }
    assert {rank: host for rank, (host, _) in ranks.items()} == {0: "node1", 1: "node2"}
    assert ranks[0][1]["pid"] == site.rank(going_on, 0)
    assert all(process["rss_mib"] > 50 and process["sockets"] > 0 for _, process in ranks.values())
    # Whatever else this machine does meanwhile, a run that takes steps is neither hung nor failed.
    assert not [cause for cause in asked["causes"] if cause["score"] >= 80]


def test_why_tells_a_kill_from_an_error(site: Site) -> None:
    running = site.begin("shot", "--nodes", 2, settings=LONG)
    site.await_step("shot", 1, running)
    os.kill(site.rank("shot", 1), signal.SIGKILL)
    running.communicate(timeout=120)
    assert running.returncode == 100
    assert titles(site, "shot")[0].startswith("a process on node2 was killed from outside")


def test_why_tells_refused_input_in_the_trainers_words(site: Site, tmp_path: Path) -> None:
    text = tmp_path / "short.txt"
    text.write_text("Too short to learn from.")
    settings = (*QUICK, "train.data.source=text", f"train.data.path={text}")
    refused = site.launch("refused-input", "--nodes", 1, settings=settings)
    assert refused.code == 100, refused.text
    asked = site.invoke("train.why", "--name", "refused-input", "--json")
    first = asked.data["causes"][0]
    assert first["title"] == "the trainer refused what it was given"
    assert "25 tokens are less than one row of 65" in first["evidence"][0]


def test_why_says_that_a_finished_run_is_fine(site: Site) -> None:
    assert site.launch("fine", "--nodes", 1).code == 0
    assert titles(site, "fine") == ["nothing is wrong: it finished at step 12"]


def test_why_of_a_run_that_never_was_asks_preflight_or_does_not_know_it(site: Site) -> None:
    assert titles(site, "gpt2-micro-smoke") == [
        "it was never launched on these nodes, and preflight finds no problem"
    ]
    unknown = site.invoke("train.why", "--name", "no-such-run")
    assert unknown.code == 102
    assert 'there is no run "no-such-run"' in unknown.err


def test_watch_prints_one_page_where_there_is_no_terminal(site: Site, going_on: str) -> None:
    page = site.invoke("train.watch")
    assert page.code == 0, page.text
    assert going_on in page.out and "running" in page.out
    assert "└" in page.out and "step" in page.out
    seen = {run["name"]: run for run in site.invoke("train.watch", "--json").data["runs"]}
    assert seen[going_on]["state"] == "running" and seen[going_on]["step"] >= 3
    assert site.invoke("train.watch", "--interval", 0).code == 5


@pytest.mark.parametrize("way", ["q", "\x03"])
def test_watch_is_live_on_a_terminal_until_q_or_ctrl_c(site: Site, going_on: str, way: str) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "invoke", "train.watch", "--interval", "0.2"],
        cwd=REPOSITORY,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=take_terminal,
        env={
            **os.environ,
            "PLAYRUNNER_STATE_HOME": str(site.state),
            "TERM": "xterm",
            "COLUMNS": "100",
            "LINES": "40",
        },
    )
    os.close(slave)
    seen = read_until(master, "q ends")
    assert going_on in seen
    later = read_until(master, "q ends")  # drawn again by itself
    os.write(master, way.encode())
    left = read_to_end(master)
    assert process.wait(30) == 0, left
    assert "\x1b[?1049l" in later + left, "the screen is given back"
    os.close(master)


def test_tensorboard_serves_a_run_without_event_files_and_leaves_nothing(
    site: Site, going_on: str
) -> None:
    with site.start("train.tensorboard", "--name", going_on, "--port", 0, "--json") as process:
        assert process.stdout
        said = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        assert said["made"] and said["host"] == "node1"
        tags = _await_tags(said["url"])
        assert {"train/loss", "train/lr"} <= set(tags)
        assert _boards(site)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        errors = process.stderr.read() if process.stderr else ""
        assert "Traceback" not in errors, errors
    site.await_that(lambda: not _boards(site), "the end of tensorboard on the node", seconds=30)
    assert not Path(said["folder"]).exists()


def test_tensorboard_uses_the_event_files_of_a_run_that_wrote_them(site: Site) -> None:
    assert (
        site.launch("drawn", "--nodes", 1, settings=(*QUICK, "train.log.tensorboard=true")).code
        == 0
    )
    with site.start("train.tensorboard", "--name", "drawn", "--port", 0, "--json") as process:
        assert process.stdout
        said = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        assert said["folder"].endswith("/runs/drawn/output/tensorboard") and not said["made"]
        assert "train/loss" in _await_tags(said["url"])
        process.kill()  # as hard as it gets: the node sees its connection end
    site.await_that(lambda: not _boards(site), "the end of tensorboard on the node", seconds=30)
    assert list((site.folder("drawn") / "output" / "tensorboard").iterdir())


def test_tensorboard_says_in_one_line_what_stands_in_the_way(site: Site, going_on: str) -> None:
    assert site.invoke("train.tensorboard", "--name", "no-such-run").code == 102
    taken = site.invoke("train.tensorboard", "--name", going_on, "--port", 99999)
    assert taken.code == 5 and "--port 99999" in taken.err
    site.await_that(lambda: not _boards(site), "the end of tensorboard on the node", seconds=30)


def test_bench_measures_the_network_and_leaves_nothing(site: Site) -> None:
    shown = site.invoke("train.bench", "--nodes", 3)
    assert shown.code == 0, shown.text
    assert shown.out.startswith("3 nodes, 3 ranks, gloo")
    assert "16 MiB" in shown.out and "pairs: Gbit/s above the diagonal" in shown.out
    assert "3 nodes answer" in shown.out.splitlines()[-1]
    until(  # a node ends them when it sees that the command is gone
        lambda: not processes_with(site, b"trainer.netcheck.gate"),
        seconds=5,
        what="no process of the check",
    )


def test_bench_fails_when_the_network_is_not_what_the_inventory_expects(
    site: Site, tmp_path: Path
) -> None:
    inventory = tmp_path / "expecting.yaml"
    inventory.write_text(
        (REPOSITORY / "inventories" / "local.yaml").read_text()
        + "    train_expected_gbps: 1000000\n"
    )
    judged = site.invoke("train.bench", "--nodes", 2, "--inventory", inventory, "--json")
    assert judged.code == 6, judged.text
    assert not judged.data["verdict"]["ok"]
    assert judged.data["result"]["world_size"] == 2
    assert "expected 1000000.0 Gbit/s" in judged.data["verdict"]["lines"][0]


def test_bench_interrupted_leaves_nothing(site: Site) -> None:
    with site.start("train.bench", "--nodes", 2) as process:
        site.await_that(
            lambda: len(processes_with(site, b"trainer.netcheck.gate")) == 2,
            "the gate's processes",
            process,
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    site.await_that(
        lambda: not processes_with(site, b"trainer.netcheck.gate"),
        "the end of the gate's processes",
        seconds=20,
    )


def test_bench_refuses_more_nodes_than_there_are(site: Site) -> None:
    limited = site.invoke("train.bench", "--nodes", 2, "--limit", "node1")
    assert limited.code == 5
    assert "2 nodes are requested" in limited.err


def _got_on(site: Site, name: str, step: int) -> bool:
    return max(site.losses(name)) > step


def _await_tags(url: str, seconds: float = 60.0) -> dict[str, Any]:
    """What can be drawn; tensorboard reads its files some time after it serves."""

    def tags() -> dict[str, dict[str, Any]]:
        with urllib.request.urlopen(f"{url}data/plugin/scalars/tags", timeout=30) as answer:
            found: dict[str, dict[str, Any]] = json.load(answer)
        return found

    return next(iter(until(tags, seconds=seconds, what="scalars in tensorboard").values()))


def _boards(site: Site) -> list[int]:
    return processes_with(site, b"trainer.node.tensorboard_server")
