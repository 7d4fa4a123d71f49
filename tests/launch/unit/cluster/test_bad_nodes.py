"""Which nodes a run that is followed puts aside where the inventory lets them be cordoned: ten
kinds of user error cordon nothing, three kinds of node fault find the node.

The server is the sandbox's own; PLAYRUNNER_TEST_KUBE=real takes a real kube-apiserver where its
programs are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import KubeSettings, access
from playrunner.kube.client.transport import Transport
from playrunner.options import Options
from playrunner.training.kube.job_spec.pod import CONTAINER
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.network.pool import ClusterPool
from playrunner.training.kube.runs import bad_nodes
from playrunner.training.kube.runs.bad_nodes import BadNodes
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.session import open_session
from playrunner.training.netcheck.spares import Search, should_retry
from playrunner.training.quarantine_setting import read_setting
from playrunner.training.request import Request
from tests.launch.unit.test_blame import USER_ERRORS
from tests.support.kube.api_server import api  # noqa: F401
from tests.support.kube.module_stage import Api
from trainer.netcheck.verdict import Verdict

USED, SPARE = ("gpu-1", "gpu-2"), "gpu-3"
DEVICE_LOST = "NVRM: Xid (PCI:0000:10:1c): 79, GPU has fallen off the bus."
SUMMARY = {"name": "run", "run_id": "run-1", "namespace": "default", "launcher": "job"}


@pytest.fixture
def nodes(api: Api) -> Iterator[Callable[[], dict[str, dict[str, Any]]]]:
    """Three nodes with room, of which a run uses two; what they are like then."""
    for name in (*USED, SPARE):
        api.call("POST", "/api/v1/nodes", {"metadata": {"name": name}})
        api.status(
            f"/api/v1/nodes/{name}",
            allocatable={"cpu": "4", "memory": "8Gi", "pods": "10"},
            conditions=[{"type": "Ready", "status": "True"}],
        )
        # A real server taints what is new, until a controller that is not there sees it ready.
        api.merge(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
    for name in USED:
        spec = {"nodeName": name, "containers": [{"name": CONTAINER, "image": "i:1"}]}
        body = {"metadata": {"name": f"run-{name}"}, "spec": spec}
        made = api.call("POST", "/api/v1/namespaces/default/pods", body)
        assert made["kind"] == "Pod", made
    yield lambda: {name: api.get(f"/api/v1/nodes/{name}")["spec"] for name in (*USED, SPARE)}
    for name in USED:
        path = f"/api/v1/namespaces/default/pods/run-{name}?gracePeriodSeconds=0"
        api.call("DELETE", path)
    for name in (*USED, SPARE):
        api.call("DELETE", f"/api/v1/nodes/{name}")


def watched(api: Api, said: list[str]) -> BadNodes:
    kube = Kube(Cluster(lambda: Transport(access(KubeSettings(str(api.kubeconfig))))))
    run = ClusterRun(SUMMARY, Status("Running"))
    return BadNodes(kube, run, said.append, read_setting("cordon 2h"))


def end(
    api: Api, watcher: BadNodes, node: str, times: int, code: int, reason: str, line: str
) -> None:
    """The trainer's container in the run's pod on this node ends, for the so many-th time."""
    terminated = {
        "exitCode": code,
        "reason": reason,
        "message": line,
        "startedAt": f"2026-01-01T00:0{times}:00Z",
        "finishedAt": f"2026-01-01T00:0{times}:30Z",
        "containerID": f"containerd://{node}-{times}",
    }
    container = {
        "name": CONTAINER,
        "image": "i:1",
        "imageID": "",
        "ready": False,
        "restartCount": times,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": terminated},
    }
    path = f"/api/v1/namespaces/default/pods/run-{node}"
    watcher.observe(api.status(path, phase="Running", containerStatuses=[container]))


def aside(found: dict[str, dict[str, Any]]) -> list[str]:
    return [name for name, spec in found.items() if spec.get("unschedulable") or spec.get("taints")]


@pytest.mark.parametrize("where", [USED[:1], USED], ids=["on one node", "on all"])
@pytest.mark.parametrize("error", USER_ERRORS)
def test_a_users_error_cordons_nothing(
    api: Api,
    nodes: Callable[[], dict[str, dict[str, Any]]],
    error: str,
    where: tuple[str, ...],
) -> None:
    code, reason, line, _ = USER_ERRORS[error]
    said: list[str] = []
    watcher = watched(api, said)
    for times in range(4):
        for node in where:
            end(api, watcher, node, times, code, reason, line)
    assert aside(nodes()) == [] and said == []


def test_a_device_that_is_lost_twice_finds_its_node(
    api: Api, nodes: Callable[[], dict[str, dict[str, Any]]]
) -> None:
    said: list[str] = []
    watcher = watched(api, said)
    end(api, watcher, "gpu-2", 0, 1, "Error", DEVICE_LOST)
    end(api, watcher, "gpu-1", 0, 1, "Error", "[0] Connection reset by peer")
    assert aside(nodes()) == [], "once may be anything"
    end(api, watcher, "gpu-2", 1, 1, "Error", DEVICE_LOST)
    assert aside(nodes()) == ["gpu-2"] and nodes()["gpu-2"]["unschedulable"]
    assert "gpu-2 is in quarantine for 2h" in said[0] and DEVICE_LOST in said[0]


def test_a_kubelet_that_is_gone_finds_its_node(
    api: Api, nodes: Callable[[], dict[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bad_nodes, "LOOK_SECONDS", 0.0)
    said: list[str] = []
    watcher = watched(api, said)
    for node in USED:
        watcher.observe(api.get(f"/api/v1/namespaces/default/pods/run-{node}"))
    watcher.idle()
    assert aside(nodes()) == []
    silent = {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting status"}
    api.status("/api/v1/nodes/gpu-1", conditions=[silent])
    watcher.idle()
    assert aside(nodes()) == ["gpu-1"] and "Kubelet stopped posting status" in said[0]


def test_a_link_that_is_slow_twice_finds_its_node(
    api: Api, nodes: Callable[[], dict[str, dict[str, Any]]], tmp_path: Path
) -> None:
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(
        f"all: {{vars: {{kubeconfig: {api.kubeconfig}, train_quarantine: cordon 2h}}}}\n"
    )
    for node in USED:  # the check's own pods have gone when it is judged
        api.call("DELETE", f"/api/v1/namespaces/default/pods/run-{node}?gracePeriodSeconds=0")
    site = open_session(Options(inventory=(str(inventory),)))
    pool = ClusterPool(Request("gpt2-micro-smoke", nodes=2), site, "job")
    slow = Verdict(False, ("gpu-2 is slow to 2 of 2 nodes",), ("gpu-2",), ("gpu-2",))
    search = Search("run")
    assert should_retry(search, slow, list(USED), pool)
    assert should_retry(search, slow, list(USED), pool), "with the spare"
    assert aside(nodes()) == ["gpu-2"] and nodes()["gpu-2"]["unschedulable"]
