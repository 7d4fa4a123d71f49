"""A script that was not written for this program, on a cluster: copied through the claim, killed,
explained, stopped and resumed as over SSH."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launch.cluster import ClusterSite, cluster_site

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("cluster")) as made:
        yield made


def test_a_script_like_nanogpt_is_killed_explained_stopped_and_resumed_in_pods(
    cluster: ClusterSite, tmp_path: Path
) -> None:
    project = tmp_path / "mine"
    shutil.copytree(SCRIPTS, project)
    cluster.install("pytorchjob")
    before = cluster.things()
    words = ("--script", project / "nanogpt_style.py", "--name", "nano", "--nodes", 2)
    begun = cluster.ask(
        "train.launch",
        *words,
        "--launcher",
        "pytorchjob",
        "--detach",
        "--set",
        'setup=echo "prepared for $(basename $CHECKPOINT_DIR)"',
        "--",
        "--max_iters=100000",
        "--pause=0.05",
        "--out_dir=$CHECKPOINT_DIR/of$$run",
    )
    assert begun.code == 0, begun.text
    cluster.await_step("nano", 3)
    folder = cluster.shared / "runs" / "nano"
    assert (folder / "work" / "model.py").read_bytes() == (project / "model.py").read_bytes()
    assert (folder / "output" / "checkpoints" / "of$run" / "ckpt.pt").exists()
    seen = cluster.status("nano")
    assert seen["step"] >= 3 and seen["rank0"] in [pod["name"] for pod in seen["pods"]]
    said = cluster.ask("train.logs", "--name", "nano", "--all", "--tail", 500)
    assert "iter 3: loss" in said.out and "prepared for checkpoints" in said.out

    killed = cluster.rank_in_pods("nano", 1)
    os.kill(killed, signal.SIGKILL)
    cluster.await_that(
        lambda: cluster.rank_in_pods("nano", 1) not in (0, killed), "a new process of rank 1"
    )
    cluster.await_that(lambda: bool(cluster.status("nano")["step"]), "steps after its restart")
    why = cluster.ask("train.why", "--name", "nano")
    assert why.code == 0 and "nano: running (Running), step" in why.out, why.text
    stopped = cluster.ask("train.stop", "--name", "nano", "--json")
    assert stopped.code == 0, stopped.text
    cluster.await_that(lambda: cluster.things() == before, "the end of all that it had made")

    (project / "model.py").write_text((project / "model.py").read_text() + "\n")
    reached = stopped.data["last"]["step"]
    resumed = cluster.ask(
        "train.resume",
        "--name",
        "nano",
        "--json",
        "--",
        "--init_from=resume",
        f"--max_iters={reached + 4}",
    )
    assert resumed.code == 0, resumed.text
    assert (resumed.data["state"], resumed.data["last"]["step"]) == ("finished", reached + 3)
    given = [path for path in SCRIPTS.iterdir() if path.is_file()]
    copied = list((cluster.shared / "code" / "files").iterdir())
    assert len(copied) == 1 + len(given), "of the second launch only the changed file was copied"
    losses = cluster.losses("nano")
    assert set(losses) == set(range(reached + 4)) and losses[reached + 3] < losses[0]
    assert cluster.ask("train.stop", "--name", "nano").code == 0
