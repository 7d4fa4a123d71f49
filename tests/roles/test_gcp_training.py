"""GPT-2 on Google's cluster: a pool at nothing, a disk for everybody, jobs that train, and nothing
left at the end."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

pytest.importorskip(
    "google.auth", reason='Google Cloud needs google-auth: pip install "playrunner[gcp]"'
)
pytest.importorskip("deepspeed", reason='DeepSpeed needs itself: pip install "playrunner[train]"')
pytest.importorskip("torch", reason='training needs torch: pip install "playrunner[train]"')

from playrunner.sandbox.datasets import process as datasets
from playrunner.sandbox.kube.process.process import kubeconfig_file
from tests.support.aws.cli import Operator
from tests.support.gcp.role_stage import moving_gcp, written  # noqa: F401
from tests.support.gcp.sandbox import PretendGcp
from tests.support.kube.module_stage import Api
from tests.support.until import until

pytestmark = pytest.mark.processes
# Two runs, one of them of DeepSpeed, on a machine that may have much else to do
PATIENCE_SECONDS = 480

# One GPU in each machine, so that each pod trains with one process: this machine has none, and few
# cores.
SMALL = {
    "name": "pool-1",
    "machine_type": "a2-highgpu-1g",
    "accelerator": "nvidia-tesla-a100",
    "accelerators": 1,
    "min_nodes": 0,
    "max_nodes": 2,
}
BRIEF = (
    "train.steps=4",
    "train.schedule.warmup_steps=1",
    "train.checkpoint.every=4",
    "train.log.every=1",
)
PLAIN, OVER_SSH = "gpt2-micro-smoke", "gpt2-micro-smoke-ssh"


def test_the_playbook_creates_nodes_trains_by_job_and_by_deepspeed_over_ssh_and_is_torn_down(
    moving_gcp: PretendGcp,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    gcp = moving_gcp
    until(lambda: gcp.control("GET", "settings")["gke_endpoint"], bool)
    gcp.control("POST", "settings", {"idle_seconds": 600.0})
    datasets.up(gcp.root)  # stand-ins of what the profiles read
    request.addfinalizer(lambda: datasets.down(gcp.root))
    inventory = written(
        gcp,
        tmp_path,
        gke_gpu_pool=SMALL,
        nfs_size_gib=100,
        train_image="trainer",
        sandbox_state=str(gcp.root),
        kubeconfig=str(tmp_path / "kubeconfig"),
        train_settings=list(BRIEF),
        train_datasets=json.loads(datasets.record_file(gcp.root).read_text())["datasets"],
        train_port=free_port(),
    )
    operator = Operator(gcp, tmp_path, ("gke", str(inventory)), PATIENCE_SECONDS)  # type: ignore[arg-type]
    trained = operator.invoke("play", "playbooks/train-on-gke.yaml")
    said = trained.out + trained.err
    assert trained.code == 0 and "finished at step 4" in said, said
    assert '"claim": "pvc-tutorial"' in said, said
    assert [len(nodes) for nodes in _machines(gcp)] == [2]
    plain, over_ssh = (_losses(tmp_path, name) for name in (PLAIN, OVER_SSH))
    assert list(plain) == [1, 2, 3, 4] and over_ssh == pytest.approx(plain, rel=1e-3)
    log = "".join(
        file.read_text() for file in (_record(tmp_path, OVER_SSH) / "hosts").glob("*-0-*.log")
    )
    assert log.count(" slots=1\n") == 2, log
    assert _left_of(gcp) == [], "keys or pods of the runs are left"
    assert "PRIVATE KEY" not in "".join(operator.heard) + _written_below(tmp_path / "state")
    gcp.control("POST", "settings", {"idle_seconds": 1.0})
    until(lambda: _machines(gcp), lambda nodes: nodes == [[]])
    gone = operator.invoke("teardown", "--yes")
    assert gone.code == 0 and gcp.everything() == {}, gone.out + gone.err


def _machines(gcp: PretendGcp) -> list[list[str]]:
    """Those of the GPU pool."""
    return [one["nodes"] for one in gcp.control("GET", "pools")["pools"] if one["pool"] == "pool-1"]


def _record(folder: Path, name: str) -> Path:
    return folder / "state" / "training" / "runs" / name


def _losses(folder: Path, name: str) -> dict[int, float]:
    records = map(json.loads, (_record(folder, name) / "metrics.jsonl").read_text().splitlines())
    return {each["step"]: each["loss"] for each in records if each.get("loss") is not None}


def _left_of(gcp: PretendGcp) -> list[str]:
    """What a run may leave in the cluster, by its own API."""
    api = Api(kubeconfig_file(gcp.root))
    found = [
        api.get(f"{home}/namespaces/default/{kind}")
        for home, kind in (
            ("/api/v1", "secrets"),
            ("/api/v1", "pods"),
            ("/apis/batch/v1", "jobs"),
            ("/api/v1", "services"),
        )
    ]
    return [
        one["metadata"]["name"]
        for listed in found
        for one in listed["items"]
        if "gpt2-micro" in one["metadata"]["name"]
    ]


def _written_below(folder: Path) -> str:
    """Every text of the state folder: records, ledgers, diffs."""
    return "".join(file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file())


def free_port() -> int:
    """Where the pods meet: they have this machine's ports."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
