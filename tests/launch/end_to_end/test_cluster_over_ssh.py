"""A run whose ranks are started over SSH between pods: one that fails ends all, the run goes on,
and its keys go with it."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import runner
from tests.support.launch.cluster import ClusterSite, cluster_site
from tests.support.launch.site import PACE, PATIENCE_SECONDS

pytest.importorskip("torch", reason='training needs torch: pip install "playrunner[train]"')
LAUNCHER = ("--launcher", "deepspeedjob", "--nodes", 2)
STEPS = 120
SETTINGS = (
    f"train.steps={STEPS}",
    "train.log.every=1",
    "train.checkpoint.every=10",
    "train.evaluate.batches=1",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("over-ssh")) as made:
        if not made.indexed:
            pytest.skip("this API server has no Indexed Jobs")
        yield made


def test_a_killed_rank_ends_all_and_the_run_goes_on_until_neither_keys_nor_processes_are_left(
    cluster: ClusterSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    before = cluster.things()
    launched = cluster.begin("struck", *LAUNCHER, settings=SETTINGS)
    cluster.await_that(lambda: 12 in cluster.recorded("struck"), "step 12", launched)
    run_id = _run_id(cluster)
    os.kill(_rank(run_id, 1), signal.SIGKILL)
    assert _asked(cluster, run_id, tmp_path, "id").returncode == 64, (
        "the key opened more than it should"
    )
    done = runner.finish(launched, PATIENCE_SECONDS)
    assert done.code == 0, done.text
    assert max(cluster.recorded("struck")) == STEPS
    logs = "".join(
        path.read_text() for path in (cluster.record("struck") / "hosts").glob(f"{run_id}-0-*.log")
    )
    assert "ended with code 137; the ranks on all pods are ended" in logs
    assert not [thing for thing in cluster.things() if thing.startswith("secrets/")], (
        "keys outlived their run"
    )
    assert cluster.ask("train.stop", "--name", "struck").code == 0
    assert cluster.things() == before and not _processes(run_id)


def test_stopping_saves_and_takes_the_keys_away(
    cluster: ClusterSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    before = cluster.things()
    launched = cluster.begin(
        "asked", *LAUNCHER, "--detach", settings=("train.steps=100000", PACE, *SETTINGS[1:2])
    )
    assert runner.finish(launched, PATIENCE_SECONDS).code == 0
    run_id = _run_id(cluster)
    cluster.await_that(
        lambda: "/100000  loss" in cluster.ask("train.logs", "--name", "asked").text, "a step"
    )
    assert f"secrets/{run_id}-ssh" in cluster.things()
    stopped = cluster.ask("train.stop", "--name", "asked")
    assert stopped.code == 0 and "is stopped at step" in stopped.text, stopped.text
    assert cluster.things() == before and not _processes(run_id)
    assert list((cluster.shared / "runs" / "asked" / "output" / "checkpoints").iterdir()), (
        "it did not save"
    )


def _run_id(cluster: ClusterSite) -> str:
    (job,) = [one for one in cluster.things() if one.startswith("jobs/")]
    return job.partition("/")[2]


def _asked(
    cluster: ClusterSite, run_id: str, folder: Path, command: str
) -> subprocess.CompletedProcess[bytes]:
    """What somebody who holds the run's key gets of its second pod."""
    secret: dict[str, Any] = cluster.api.get(f"/api/v1/namespaces/default/secrets/{run_id}-ssh")[
        "data"
    ]
    key = folder / "key"
    key.touch(mode=0o600)
    key.write_bytes(base64.b64decode(secret["key"]))
    (folder / "known").write_bytes(f"{run_id} ".encode() + base64.b64decode(secret["host_key.pub"]))
    pods = cluster.api.get(
        f"/api/v1/namespaces/default/pods?labelSelector=playrunner.io/training-id={run_id}"
    )["items"]
    address = max(pods, key=lambda pod: str(pod["metadata"]["name"]))["status"]["podIP"]
    words = [
        "-F",
        "none",
        "-i",
        str(key),
        "-p",
        "2222",
        "-o",
        f"HostKeyAlias={run_id}",
        "-o",
        "IdentitiesOnly=yes",
        "-o",
        f"UserKnownHostsFile={folder / 'known'}",
        "-o",
        "StrictHostKeyChecking=yes",
        "-o",
        "BatchMode=yes",
    ]
    return subprocess.run(
        ["ssh", *words, address, command],
        check=False,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
    )


def _processes(run_id: str) -> dict[int, list[bytes]]:
    """Those that carry its mark, with their environment."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(entry.startswith(f"PLAYRUNNER_RUN={run_id}/".encode()) for entry in environment):
            found[int(folder.name)] = environment
    return found


def _rank(run_id: str, rank: int) -> int:
    return next(
        pid
        for pid, environment in _processes(run_id).items()
        if f"RANK={rank}".encode() in environment
    )
