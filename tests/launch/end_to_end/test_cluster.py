"""The same profile on a cluster, by five launchers: it trains as over SSH, is found, stopped, taken
up again, and gone.

Their namespace enforces the restricted Pod Security Standard: a pod that it admits, baseline and
privileged admit as well.
"""

from __future__ import annotations

import json
import signal
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from playrunner.training.launchers import CLUSTER_LAUNCHERS
from tests.support import runner
from tests.support.launch.cluster import ClusterSite, cluster_site
from tests.support.launch.site import PACE, Site

# The schedule does not depend on where a run is stopped, so that its losses can be compared.
SETTINGS = (
    "train.log.every=1",
    "train.checkpoint.every=20",
    "train.checkpoint.keep=2",
    "train.evaluate.batches=1",
    "train.schedule.decay_steps=5000",
)
LONG = (*SETTINGS, "train.steps=5000", PACE)
COMPARED = 10  # steps


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("cluster")) as made:
        made.enforce("restricted")
        yield made


@pytest.fixture(scope="module")
def reference(site: Site) -> dict[int, float]:
    """The losses of the same profile over SSH."""
    done = site.launch(
        "reference", "--nodes", 2, "--no-gate", settings=(*SETTINGS, f"train.steps={COMPARED}")
    )
    assert done.code == 0, done.text
    return site.losses("reference")


@pytest.mark.parametrize("launcher", ["job", "pytorchjob", "elasticjob", "vcjob", "deepspeedjob"])
def test_it_trains_as_over_ssh_and_is_stopped_resumed_and_gone(
    cluster: ClusterSite, reference: dict[int, float], launcher: str
) -> None:
    if launcher in ("job", "deepspeedjob") and not cluster.indexed:
        pytest.skip("this API server is older than Indexed Jobs")
    cluster.install(launcher)
    before = cluster.things()
    begun = cluster.launch(
        launcher, "--nodes", 2, "--launcher", launcher, "--detach", settings=LONG
    )
    assert begun.code == 0, begun.text
    seen = _await_step(cluster, launcher, COMPARED)
    assert seen["rank0"] in [pod["name"] for pod in seen["pods"]]
    assert [pod["phase"] for pod in seen["pods"]] == ["Running", "Running"]
    assert len({pod["node"] for pod in seen["pods"]}) == 2
    if cluster.has_standards:
        assert cluster.security(seen["pods"]) == ["restricted"] * 2
    said = cluster.ask("train.logs", "--name", launcher, "--tail", 500)
    assert f"step {COMPARED}/5000" in said.out and "metrics {" not in said.out

    stopped = cluster.ask("train.stop", "--name", launcher, "--json")
    assert stopped.code == 0, stopped.text
    cluster.await_that(lambda: cluster.things() == before, "the end of all that it had made")
    last = stopped.data["last"]["step"]
    losses = cluster.recorded(launcher)
    assert max(losses) == last >= COMPARED
    assert {step: losses[step] for step in reference} == pytest.approx(reference, abs=1e-4)
    kept = {path.name for path in cluster.record(launcher).iterdir()}
    assert {"job.yaml", "pods.json", "events.jsonl", "ended.json", "hosts"} <= kept
    variables = json.loads((cluster.record(launcher) / "environment.json").read_text())
    assert variables and all(each["reason"] for each in variables)
    told = cluster.ask("train.status", "--name", launcher, "--json")
    assert (told.code, told.data["state"], told.data["step"], told.data["last"]["loss"]) == (
        103,
        "stopped",
        last,
        losses[last],
    )

    resumed = cluster.ask(
        "train.resume", "--name", launcher, "--set", f"train.steps={last + 3}", "--json"
    )
    assert resumed.code == 0, resumed.text
    assert resumed.data["state"] == "finished"
    assert resumed.data["last"]["step"] == last + 3
    assert set(cluster.recorded(launcher)) == set(range(1, last + 4)), (
        "no step is missing, and none was lost to the stop"
    )
    assert cluster.ask("train.stop", "--name", launcher).code == 0
    cluster.await_that(lambda: cluster.things() == before, "the end of all that it had made")


@pytest.mark.parametrize("launcher", ["pytorchjob", "elasticjob"])
def test_an_elastic_run_shrinks_and_grows_and_rank_0_is_found_again(
    cluster: ClusterSite, launcher: str
) -> None:
    cluster.install(launcher)
    settings, name = (*LONG, "launch.min_nodes=1", "launch.max_nodes=2"), f"elastic-{launcher}"
    assert (
        cluster.launch(
            name, "--nodes", 2, "--launcher", launcher, "--detach", settings=settings
        ).code
        == 0
    )
    step = _await_step(cluster, name, 3, 2)["step"]
    for nodes in (1, 2):
        scaled = cluster.ask("train.scale", "--name", name, "--nodes", nodes, "--json")
        assert scaled.data == {
            "name": name,
            "run_id": scaled.data["run_id"],
            "changed": True,
            "nodes": nodes,
            "before": 3 - nodes,
        }
        seen = cluster.await_met(name, nodes)
        assert seen["rank0"] in [pod["name"] for pod in seen["pods"]] and seen["step"] > step
        step = seen["step"]
    losses = cluster.losses(name)
    assert losses[max(losses)] < losses[1], "the loss went on falling"
    assert cluster.ask("train.scale", "--name", name, "--nodes", 3).code == 5
    said = cluster.ask("train.netcheck", "--name", name, "--json")
    assert said.code == 0, said.text
    assert {check["pod"] for check in said.data["checks"]} == {pod["name"] for pod in seen["pods"]}
    assert any("rank 0 at" in check["what"] for check in said.data["checks"])

    replaced = cluster.launch(
        name, "--nodes", 1, "--launcher", launcher, "--detach", "--replace", settings=LONG
    )
    assert replaced.code == 0, replaced.text
    assert "stopping it first" in replaced.text
    left = [thing for thing in cluster.things() if thing.startswith(f"pods/{seen['run_id']}")]
    assert left == [], "it was waited for until its pods were gone"
    assert cluster.ask("train.stop", "--name", name).code == 0


@pytest.fixture(scope="module")
def interrupted(cluster: ClusterSite) -> tuple[runner.Outcome, runner.Outcome]:
    """A run that was launched twice, followed, and interrupted: what the second launch said, and
    the first in the end."""
    running = cluster.begin("followed", "--nodes", 1, settings=LONG)
    cluster.await_that(lambda: len(cluster.recorded("followed")) >= 3, "three steps", running)
    again = cluster.launch("followed", "--nodes", 1, settings=LONG)
    return again, cluster.interrupt(running)


def test_launching_twice_changes_nothing(
    interrupted: tuple[runner.Outcome, runner.Outcome],
) -> None:
    again, _ = interrupted
    assert (again.code, "nothing changed" in again.text) == (0, True)


def test_interrupting_whoever_follows_stops_the_run_with_its_checkpoint_saved(
    cluster: ClusterSite, interrupted: tuple[runner.Outcome, runner.Outcome]
) -> None:
    _, ended = interrupted
    assert ended.code == 103, ended.text
    assert not any("followed" in thing for thing in cluster.things())
    seen = cluster.ask("train.status", "--name", "followed", "--json")
    assert (seen.code, seen.data["state"]) == (103, "stopped")
    text = "\n".join(path.read_text() for path in (cluster.record("followed") / "hosts").iterdir())
    assert "asked to stop at step" in text
    told = cluster.ask("train.why", "--name", "followed")
    assert "it was stopped" in told.out and "invoke train.resume --name followed" in told.out


@pytest.mark.usefixtures("interrupted")
def test_a_shell_sees_the_checkpoints_of_a_run_that_is_gone_and_leaves_no_pod(
    cluster: ClusterSite,
) -> None:
    command = "ls /data/runs/followed/output/checkpoints; exit 3"
    looked = cluster.ask("train.shell", "--name", "followed", "--command", command, "--json")
    assert (looked.code, looked.data["rc"]) == (2, 3), looked.text
    assert "step-" in looked.data["stdout"]
    cluster.await_that(
        lambda: not any("followed" in thing for thing in cluster.things()), "the end of its pod"
    )


@pytest.mark.usefixtures("interrupted")
def test_its_curves_are_served_on_loopback_until_whoever_looks_leaves(cluster: ClusterSite) -> None:
    pytest.importorskip("tensorboard")
    board = cluster.start(
        "train.tensorboard", "--name", "followed", "--inventory", cluster.inventory, "--port", 0
    )
    try:
        assert board.stdout
        url = board.stdout.readline().split()[1]
        assert url.startswith("http://127.0.0.1:")
        tags = urllib.request.urlopen(f"{url}data/plugin/scalars/tags", timeout=60).read().decode()
        assert "train/loss" in tags
    finally:
        board.send_signal(signal.SIGTERM)
        ended = runner.finish(board)
    assert ended.code == 0, ended.text
    cluster.await_that(
        lambda: not any("followed" in thing for thing in cluster.things()), "the end of its pod"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--nodes", 3, "--set", "train.batch_size=12"],
            "3 nodes with 1 cpu free are wanted, and the cluster has 2",
        ),
        (["--launcher", "slurm"], f"{', '.join(CLUSTER_LAUNCHERS)} on a cluster"),
        (
            [
                "--set",
                "launch.max_nodes=9",
                "--set",
                "launch.min_nodes=1",
                "--launcher",
                "pytorchjob",
            ],
            "set launch.max_nodes=2",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_submitted(
    cluster: ClusterSite, words: list[object], told: str
) -> None:
    cluster.install("pytorchjob" if "pytorchjob" in words else "")
    before = cluster.things()
    refused = cluster.launch("refused", *words)
    assert refused.code in (5, 6), refused.text
    assert told in refused.text
    assert cluster.things() == before


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ("single", "it must be ReadWriteMany"),
        ("none-such", "there is no claim none-such"),
        ("", "they would die with their pods"),
    ],
)
def test_checkpoints_must_outlive_their_pods(cluster: ClusterSite, claim: str, told: str) -> None:
    cluster.say(train_claim=claim)
    try:
        refused = cluster.launch("unkept", "--nodes", 2)
    finally:
        cluster.say()
    assert (refused.code, told in refused.text) == (6, True), refused.text


def test_looking_only_touches_nothing_and_shows_the_job(cluster: ClusterSite) -> None:
    cluster.install("pytorchjob")
    before = cluster.things()
    looked = cluster.launch("looked", "--nodes", 2, "--launcher", "pytorchjob", "--check", "--diff")
    assert looked.code == 0, looked.text
    assert "kind: PyTorchJob" in looked.text and "name: pytorchjob-port" in looked.text
    assert cluster.things() == before


def _await_step(cluster: ClusterSite, name: str, step: int, nodes: int = 0) -> dict[str, Any]:
    """Until the run has taken it, and so many pods have met of which one is rank 0; how it stands
    then."""
    cluster.await_step(name, step)
    seen: dict[str, Any] = {}

    def there() -> bool:
        seen.update(cluster.status(name))
        assert seen["state"] in ("pending", "running"), seen
        return bool(
            seen["step"] >= step
            and seen["rank0"]
            and (not nodes or len(seen["pods"]) == seen["met"] == nodes)
        )

    cluster.await_that(there, f"step {step} of {name} in its pods' words")
    return seen
