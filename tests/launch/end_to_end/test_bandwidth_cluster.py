"""Bandwidth measured in a cluster: a job of real processes, its table brought back, and nothing of
it left."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.sandbox.kube.process import process
from playrunner.training.kube.network.bandwidth_manifests import Bench, mpi_job
from tests.support import runner
from tests.support.kube.module_stage import Api

PATIENCE_SECONDS = 240  # a busy two-core machine imports for half a minute


class Cluster:
    """A sandbox's cluster with the training operator in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "cluster"
        self.root.mkdir()
        self.api = Api(Path(process.up(self.root, pretend=True, moving=True).kubeconfig))
        self.inventory = folder / "inventory.yaml"
        self.inventory.write_text(
            json.dumps(
                {
                    "all": {
                        "vars": {
                            "cluster_name": "bench",
                            "kubeconfig": str(self.api.kubeconfig),
                            "train_pod_python": sys.executable,
                            "train_environment": {"OMP_NUM_THREADS": "1"},
                        }
                    }
                }
            )
        )

    def invoke(self, verb: str, *words: object) -> runner.Outcome:
        started = runner.start(
            verb, "--inventory", self.inventory, *words, "--json", state=self.folder / "state"
        )
        return runner.finish(started, PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("bench"))
    try:
        yield made
    finally:
        process.down(made.root)


def test_a_job_measures_between_nodes_and_is_gone_afterwards(cluster: Cluster) -> None:
    brought = cluster.invoke("kubeflow.create")
    assert brought.code == 0, brought.text
    measured = cluster.invoke(
        "nccl-image.bench",
        "--image",
        "cpu:1",
        "--job",
        "pytorchjob",
        "--nodes",
        2,
        "--begin",
        "4K",
        "--end",
        "64K",
    )
    assert measured.code == 0, measured.text
    assert [row["bytes"] for row in measured.data["rows"]] == [2**power for power in range(12, 17)]
    assert len(measured.data["devices"]) == 2, "each pod was on a node of its own"
    jobs: Any = cluster.api.get("/apis/kubeflow.org/v1/namespaces/default/pytorchjobs")
    assert [job for job in jobs["items"] if "deletionTimestamp" not in job["metadata"]] == []


def test_nccl_tests_are_not_sent_to_a_cluster_without_gpus(cluster: Cluster) -> None:
    refused = cluster.invoke("nccl-image.bench", "--image", "nccl-tests:1")
    assert (
        refused.code == 5
        and "no node of the cluster offers nvidia.com/gpu" in refused.data["error"]
    ), refused.text


def test_nccl_tests_get_every_gpu_and_every_card_of_a_node() -> None:
    bench = Bench(
        "bandwidth-1",
        "default",
        "nccl-tests:1",
        nodes=2,
        slots=8,
        flags=("-b", "8", "-e", "16G"),
        gpus=8,
        cards=32,
        environment={"FI_PROVIDER": "efa"},
    )
    spec = mpi_job(bench)["spec"]
    launcher, worker = (
        spec["mpiReplicaSpecs"][role]["template"]["spec"]["containers"][0]
        for role in ("Launcher", "Worker")
    )
    assert spec["slotsPerWorker"] == 8 and spec["mpiReplicaSpecs"]["Worker"]["replicas"] == 2
    assert worker["resources"]["limits"] == {
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
        "hugepages-2Mi": "5120Mi",
        "memory": "32000Mi",
    }
    command = " ".join(launcher["command"])
    assert (
        "-np 16" in command and "-x FI_PROVIDER=efa" in command and "-x NCCL_DEBUG=INFO" in command
    )
    assert command.endswith("all_reduce_perf -b 8 -e 16G -g 1 -c 1") and "resources" not in launcher
