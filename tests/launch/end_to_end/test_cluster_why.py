"""train.why about runs that are really in trouble on a cluster: the cause comes first, with the
next command.

One sandbox is shared. A run that hangs hangs while the others are looked at, since a standstill
takes a while to be one.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from playrunner.sandbox.kube.controllers.control import control_request
from tests.support.launch.cluster import ClusterSite, cluster_site
from tests.support.launch.site import PACE, environments

pytest.importorskip("torch", reason='training needs torch: pip install "playrunner[train]"')
ENDLESS = (
    "train.steps=100000",
    PACE,
    "train.log.every=1",
    "train.checkpoint.every=1000",
    "train.evaluate.batches=1",
)


@dataclass(frozen=True)
class Trouble:
    """What the inventory says, what is done to the cluster, how it is launched, and what is said of
    it."""

    told: str
    command: str
    variables: dict[str, Any] = field(default_factory=dict)
    fault: dict[str, str] | None = None
    taint: str = ""
    node: dict[str, Any] | None = None
    words: tuple[str, ...] = ()


TROUBLES = {
    # Nodes are promised that do not come, so it is submitted, and waits; on the one that is there
    # no device plugin runs.
    "devices": Trouble(
        "no node has enough free nvidia.com/gpu",
        "kubectl get daemonsets",
        {"train_autoscaled_nodes": 4, "instance_type": "g4dn.xlarge"},
        words=("--set", "train.device=cuda"),
        node={
            "name": "gpu",
            "cpu": 4,
            "instance_type": "g4dn.xlarge",
            "devices": {"nvidia.com/gpu": 1},
        },
    ),
    "taint": Trouble(
        "nodes carry the taint reserved=yes and the pod does not tolerate it",
        "kubectl taint nodes",
        {"train_autoscaled_nodes": 4},
        taint="reserved",
    ),
    "claim": Trouble(
        "its claim unbound is Pending, not Bound",
        "kubectl describe pvc unbound",
        {"train_claim": "unbound"},
        {
            "kind": "volume",
            "match": "slow",
            "message": "AccessDenied: elasticfilesystem:CreateAccessPoint",
        },
    ),
    "image": Trouble(
        "there is no image registry.test/missing:1",
        "kubectl describe pod",
        {"train_image": "registry.test/missing:1"},
        {"kind": "image", "match": "registry.test/missing*", "message": "manifest unknown"},
    ),
    "crash": Trouble(
        "it ends again and again (exit code 1)",
        "invoke train.logs",
        {"train_pod_python": "/bin/false"},
        words=("--launcher", "pytorchjob", "--set", "launch.max_restarts=50"),
    ),
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("why")) as made:
        if made.api.flavour == "real":
            pytest.skip("a real API server takes no orders")
        spec = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "slow",
            "resources": {"requests": {"storage": "1Gi"}},
        }
        for path, thing in (
            (
                "/apis/storage.k8s.io/v1/storageclasses",
                {"metadata": {"name": "slow"}, "provisioner": "efs.csi.aws.com"},
            ),
            (
                "/api/v1/namespaces/default/persistentvolumeclaims",
                {"metadata": {"name": "unbound"}, "spec": spec},
            ),
        ):
            said = made.api.call("POST", path, thing)
            assert said["kind"] != "Status", said
        made.install("pytorchjob")
        yield made


@pytest.fixture(scope="module", autouse=True)
def hung(cluster: ClusterSite) -> Iterator[str]:
    """A run of two pods, one of whose ranks does not move any more."""
    assert cluster.launch("hung", "--nodes", 2, "--detach", settings=ENDLESS).code == 0
    cluster.await_step("hung", 5)
    run_id = cluster.status("hung")["run_id"]
    stuck = [
        pid
        for pid, environment in environments()
        if b"RANK=1" in environment and any(run_id.encode() in entry for entry in environment)
    ]
    assert stuck
    for pid in stuck:
        os.kill(pid, signal.SIGSTOP)
    yield "hung"
    for pid in stuck:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("name", TROUBLES)
def test_a_run_that_does_not_begin_is_explained_with_the_next_command(
    cluster: ClusterSite, name: str
) -> None:
    trouble, before = TROUBLES[name], cluster.things()
    _make(cluster, trouble)
    try:
        begun = cluster.launch(name, "--nodes", 2, "--detach", *trouble.words)
        assert begun.code == 0, begun.text
        cluster.await_that(
            lambda: trouble.told in _causes(cluster, name)[0]["title"], f'"{trouble.told}"'
        )
        assert trouble.command in _causes(cluster, name)[0]["next_command"]
        assert cluster.ask("train.stop", "--name", name).code == 0
    finally:
        _mend(cluster)
    cluster.await_that(lambda: cluster.things() == before, "the end of all that it had made")


def test_a_rank_that_hangs_is_told_by_the_standstill(cluster: ClusterSite, hung: str) -> None:
    cluster.await_that(
        lambda: "it stands still" in _causes(cluster, hung)[0]["title"], "the standstill"
    )
    assert "invoke train.top --name hung" in _causes(cluster, hung)[0]["next_command"]


def _causes(cluster: ClusterSite, name: str) -> list[dict[str, Any]]:
    said = cluster.ask("train.why", "--name", name, "--json")
    assert said.code == 0, said.text
    causes: list[dict[str, Any]] = said.data["causes"]
    return causes


def _make(cluster: ClusterSite, trouble: Trouble) -> None:
    cluster.say(**trouble.variables)
    if trouble.fault:
        _control(cluster, "POST", "faults", trouble.fault)
    if trouble.node:
        _control(cluster, "POST", "nodes", trouble.node)
        cluster.await_that(lambda: cluster.api.get("/api/v1/nodes/gpu") is not None, "the node")
    if trouble.taint:
        _taint(cluster, [{"key": trouble.taint, "value": "yes", "effect": "NoSchedule"}])


def _mend(cluster: ClusterSite) -> None:
    cluster.say()
    _control(cluster, "DELETE", "faults")
    _control(cluster, "DELETE", "nodes")
    _taint(cluster, [])


def _taint(cluster: ClusterSite, taints: list[dict[str, str]]) -> None:
    for node in cluster.api.get("/api/v1/nodes")["items"]:
        cluster.api.merge(
            f"/api/v1/nodes/{node['metadata']['name']}", {"spec": {"taints": taints or None}}
        )


def _control(cluster: ClusterSite, method: str, path: str, body: Any = None) -> Any:
    return control_request(cluster.state / "sandbox" / "kube", method, path, body)
