"""train.launch on nodes of the sandbox, with processes that really train."""

from __future__ import annotations

import json
import os
import re
import signal
import time

import pytest

from tests.support.launch.site import PACE, QUICK, Site

LONG = (
    "train.steps=2000",
    PACE,
    "train.log.every=1",
    "train.checkpoint.every=10",
    "train.evaluate.batches=1",
)


def test_a_launch_trains_on_two_nodes_and_a_second_one_changes_nothing(site: Site) -> None:
    first = site.launch("twice", "--nodes", 2)
    assert first.code == 0, first.text
    losses = site.losses("twice")
    assert losses[12] < losses[1] - 0.3
    assert "twice is done" in first.err
    site.await_that(
        lambda: not site.processes("twice"),
        "the end of the supervisors, which have said their last word",
        seconds=5,
    )
    told = site.launch("twice", "--nodes", 2, "--json")
    assert told.data == {
        "name": "twice",
        "backend": "ssh",
        "state": "finished",
        "changed": False,
        "nodes": ["node1", "node2"],
    }
    again = site.launch("twice", "--nodes", 2)
    assert again.code == 0
    assert "complete at step 12: nothing to do" in again.err
    assert site.losses("twice") == losses


def test_every_launcher_and_number_of_nodes_gives_the_same_losses(site: Site) -> None:
    settings = (
        *QUICK,
        "train.steps=6",
        "train.schedule.warmup_steps=2",
        "train.device_batch_size=2",
    )
    curves = {}
    for launcher, nodes in (("direct", 1), ("direct", 2), ("torchrun", 4), ("deepspeed", 2)):
        name = f"same-{launcher}-{nodes}"
        ended = site.launch(name, "--nodes", nodes, "--launcher", launcher, settings=settings)
        assert ended.code == 0, ended.text
        curves[launcher, nodes] = site.losses(name)
    exact = curves["direct", 1]
    assert set(exact) == set(range(1, 7))
    for which, curve in curves.items():
        assert curve == pytest.approx(exact, abs=1e-4), which


def test_a_killed_rank_stops_all_nodes_and_the_run_resumes_on_the_same_curve(site: Site) -> None:
    whole = site.launch("whole", "--nodes", 2, settings=(*QUICK, "train.steps=30"))
    assert whole.code == 0, whole.text
    running = site.begin("killed", "--nodes", 2, settings=(*QUICK, "train.steps=30"))
    site.await_step("killed", 9, running)
    os.kill(site.rank("killed", 1), signal.SIGKILL)
    since = time.monotonic()
    site.await_that(lambda: not site.processes("killed"), "the end of all processes")
    assert time.monotonic() - since < 10
    out, err = running.communicate(timeout=60)
    assert running.returncode == 100, out + err
    assert "node2: rank 1 was ended by SIGKILL" in err
    assert "likely: a process on node2 was killed from outside" in err
    ended = re.search(
        r"it ended at step (\d+), loss \d\.\d+; its newest checkpoint is step-0*(\d+)(.*)", err
    )
    assert ended and int(ended[2]) % 4 == 0, err
    lost = int(ended[1]) - int(ended[2])
    assert not lost or f"({lost} step{'s' * (lost != 1)} lost)" in ended[3]
    assert "train.resume --name killed" in ended[3]
    resumed = site.launch("killed", "--nodes", 2, settings=(*QUICK, "train.steps=30"))
    assert resumed.code == 0, resumed.text
    assert "resuming from step-" in resumed.err
    assert site.losses("killed") == pytest.approx(site.losses("whole"), abs=1e-5)


def test_stop_saves_and_leaves_nothing_of_this_run_and_all_of_another(site: Site) -> None:
    for name in ("stopped", "spared"):
        begun = site.launch(name, "--nodes", 2, "--detach", settings=LONG)
        assert begun.code == 0, begun.text
    site.await_step("stopped", 3)
    site.await_step("spared", 1)
    spared = set(site.processes("spared"))
    ended = site.invoke("train.stop", "--name", "stopped")
    assert ended.code == 0, ended.text
    assert "no process left" in ended.out
    assert site.processes("stopped") == []
    assert set(site.processes("spared")) == spared
    state = site.invoke("train.status", "--name", "stopped", "--json")
    assert state.code == 103
    assert state.data["state"] == "stopped"
    newest = state.data["checkpoints"][-1]
    assert int(newest.removeprefix("step-")) == state.data["step"]  # it saved where it stopped
    assert site.invoke("train.stop", "--name", "spared").code == 0


def test_ctrl_c_saves_and_ends_the_run(site: Site) -> None:
    running = site.begin("interrupted", "--nodes", 2, settings=LONG)
    site.await_step("interrupted", 3, running)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 103, out + err
    assert site.processes("interrupted") == []
    newest = max((site.folder("interrupted") / "output" / "checkpoints").glob("step-*"))
    assert int(newest.name.removeprefix("step-")) == max(site.losses("interrupted"))


def test_without_its_controller_an_attached_run_ends_and_a_detached_one_goes_on(site: Site) -> None:
    detached = site.launch("detached", "--nodes", 2, "--detach", settings=LONG)
    assert detached.code == 0, detached.text
    attached = site.begin("attached", "--nodes", 2, settings=LONG)
    site.await_step("attached", 1, attached)
    attached.kill()
    attached.wait()
    site.await_that(
        lambda: site.supervisor("attached", "node1").get("state") == "failed",
        "the lease to run out",
        seconds=60,
    )
    assert (
        "the controller has not been heard from" in site.supervisor("attached", "node1")["reason"]
    )
    site.await_that(lambda: not site.processes("attached"), "the end of all processes")
    seen = {run["name"]: run["state"] for run in site.invoke("train.status", "--json").data["runs"]}
    assert seen["attached"] == "failed"
    assert seen["detached"] == "running"
    assert site.invoke("train.stop", "--name", "detached").code == 0


def test_logs_show_rank_zero_or_every_node(site: Site) -> None:
    assert site.launch("said", "--nodes", 2).code == 0
    mine = site.invoke("train.logs", "--name", "said")
    assert "step 12" in mine.out
    assert "[0]" not in mine.out
    lines = [
        json.loads(line)
        for line in site.invoke(
            "train.logs", "--name", "said", "--tail", 5, "--json"
        ).out.splitlines()
    ]
    assert {(line["host"], line["from"]) for line in lines} == {("node1", "0")} and len(lines) == 5
    everything = site.invoke("train.logs", "--name", "said", "--all")
    assert "node1 [0] " in everything.out and "node2 [node] " in everything.out
    assert site.invoke("train.logs", "--name", "said", "--rank", 7).code == 5
    unknown = site.invoke("train.logs", "--name", "sayd")
    assert unknown.code == 102
    assert 'did you mean "said"?' in unknown.err


def test_check_looks_and_touches_nothing(site: Site) -> None:
    looked = site.launch("looked", "--nodes", 2, "--check")
    assert looked.code == 0, looked.text
    assert not site.folder("looked").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--nodes", 3],
            "batch_size 8 is not a multiple of device_batch_size 4 x 3 processes = 12",
        ),
        (["--set", "train.stepz=3"], 'did you mean "steps"?'),
        (["--launcher", "pdsh"], "it is one of deepspeed, torchrun, direct"),
    ],
)
def test_bad_input_is_refused_before_a_node_is_touched(
    site: Site, words: list[object], said: str
) -> None:
    refused = site.launch("refused", *words)
    assert refused.code == 5
    assert said in refused.err
    assert not site.folder("refused").exists()


def test_a_name_that_no_folder_and_no_cluster_would_take_is_refused(site: Site) -> None:
    refused = site.launch("My_Run")
    assert refused.code == 5
    assert "use up to 53 of a-z" in refused.err


def test_a_run_grows_and_shrinks_and_goes_on_where_it_was(site: Site) -> None:
    settings = (*LONG, "train.device_batch_size=2")
    begun = site.launch("grown", "--nodes", 1, "--detach", settings=settings)
    assert begun.code == 0, begun.text
    site.await_step("grown", 5)
    refused = site.invoke("train.scale", "--name", "grown", "--nodes", 3)
    assert refused.code == 5, "three processes of two cannot make up a batch of eight"
    still = site.invoke("train.status", "--name", "grown", "--json").data
    assert still["state"] == "running", "it was refused before anything was stopped"
    grown = site.invoke("train.scale", "--name", "grown", "--nodes", 2, "--detach")
    assert grown.code == 0, grown.text
    at = max(site.losses("grown"))
    site.await_step("grown", at + 3)
    assert site.invoke("train.status", "--name", "grown", "--json").data["nodes"] == {
        "node1": "running",
        "node2": "running",
    }
    assert site.invoke("train.stop", "--name", "grown").code == 0


def test_a_rank_asked_to_end_by_a_stranger_saves_and_the_run_is_not_taken_for_done(
    site: Site,
) -> None:
    running = site.begin("asked", "--nodes", 2, settings=LONG)
    site.await_step("asked", 3, running)
    os.kill(site.rank("asked", 1), signal.SIGTERM)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 100, out + err
    site.await_that(lambda: not site.processes("asked"), "the end of all processes", seconds=10)
    last = max(site.losses("asked"))
    state = site.invoke("train.status", "--name", "asked", "--json")
    assert (state.code, state.data["checkpoints"][-1]) == (100, f"step-{last:08d}")
    why = site.invoke("train.why", "--name", "asked", "--json").data["causes"][0]
    assert "was asked to end (SIGTERM) by another process" in why["title"]
