"""Controllers go on when their API goes away, forgets, refuses or begins anew, and after they were
killed themselves."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.sandbox import state
from playrunner.sandbox.kube.controllers.framework import process as controllers
from playrunner.sandbox.kube.process import process
from tests.support.kube.client import Client
from tests.support.kube.moving import Cluster, Object, placed, raised
from tests.support.until import until


@pytest.fixture(scope="module")
def own_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster that nobody else needs."""
    yield from raised(tmp_path_factory.mktemp("troubled") / "sandbox", pretend=True)


@pytest.fixture
def troubled(own_root: Path) -> Iterator[Cluster]:
    Client(process.kubeconfig_file(own_root)).ok("DELETE", "/_sandbox/faults")
    yield from placed(own_root, "pretend")


def _converges(cluster: Cluster, name: str) -> None:
    cluster.create(
        "deployments", name, spec={"replicas": 2, **cluster.workload(["sleep", "100000"])}
    )
    until(
        lambda: (cluster.get("deployments", name) or {}).get("status", {}).get("availableReplicas"),
        lambda count: count == 2,
    )
    assert len(cluster.pods(app=cluster.namespace)) == 2
    cluster.delete("deployments", name)
    until(lambda: cluster.pods(app=cluster.namespace), lambda pods: pods == [])


def test_an_outage_is_waited_out(troubled: Cluster) -> None:
    troubled.api.ok("POST", "/_sandbox/outage", {"seconds": 1.5})
    until(lambda: _answers(troubled.api), bool)
    _converges(troubled, "after")


def _answers(api: Client) -> bool:
    try:
        return api.call("GET", "/readyz").code == 200
    except OSError:
        return False


def test_a_watch_that_is_too_old_begins_anew(troubled: Cluster) -> None:
    troubled.api.ok("POST", "/_sandbox/forget-history", {})
    _converges(troubled, "after")


def test_refusals_resets_and_lost_answers_do_not_make_one_pod_too_many(troubled: Cluster) -> None:
    faults = [
        {"kind": "throttle", "action": "pods:create", "times": 1},
        {"kind": "lost", "action": "pods:create", "times": 1},
        {"kind": "reset", "action": "*/status:patch", "times": 3},
        {"kind": "error", "status": 503, "action": "pods/*", "times": 2},
        {"kind": "drop", "action": "pods:watch", "seconds": 0.2, "times": 2},
    ]
    troubled.api.ok("POST", "/_sandbox/faults", faults)
    _converges(troubled, "despite")
    struck = troubled.api.ok("GET", "/_sandbox/faults")
    assert {one["struck"] for one in struck if one["action"] == "pods:create"} == {1}


def test_controllers_that_were_killed_pick_up_where_they_were(
    troubled: Cluster, own_root: Path
) -> None:
    troubled.pod("stays", "sleep", "100000", restartPolicy="Always")
    troubled.phase("stays", "Running")
    troubled.pod("ended", "true")
    troubled.phase("ended", "Succeeded")
    (pid,) = controllers.processes(process.folder(own_root))
    os.kill(pid, signal.SIGKILL)
    until(lambda: state.command_of(pid), lambda command: not command)
    process.up(own_root, pretend=True, moving=True)

    def container() -> Object:
        found: Object = (troubled.get("pods", "stays") or {})["status"]["containerStatuses"][0]
        return found

    again = until(container, lambda one: one["restartCount"] == 1 and one["ready"])
    assert again["lastState"]["terminated"]["exitCode"] == 137
    assert (troubled.get("pods", "ended") or {})["status"]["phase"] == "Succeeded"
    _converges(troubled, "after")


def test_a_cluster_that_was_emptied_gets_its_nodes_again(troubled: Cluster) -> None:
    troubled.api.ok("POST", "/_sandbox/reset", {})
    plain = {"kube-node-1", "kube-node-2"}
    until(
        lambda: {node["metadata"]["name"] for node in troubled.all("nodes")},
        lambda names: names == plain,
    )
    troubled.api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": troubled.namespace}})
    _converges(troubled, "after")


def test_down_ends_every_process_of_every_pod(tmp_path: Path) -> None:
    root = tmp_path / "sandbox"
    marked = {f"{controllers.POD_MARK}={process.folder(root)}"}
    try:
        process.up(root, pretend=True, moving=True)
        cluster = Cluster(root, Client(process.kubeconfig_file(root)), "default", "pretend")
        cluster.pod("stubborn", "sh", "-c", "trap '' TERM; while true; do sleep 0.1; done")
        cluster.phase("stubborn", "Running")
        assert state.with_environment(marked)
    finally:
        process.down(root)
    assert not state.with_environment(marked)
    assert not controllers.processes(process.folder(root))
