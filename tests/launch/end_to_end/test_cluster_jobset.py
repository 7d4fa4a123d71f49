"""A run by jobset: killed, explained, begun again as a whole, and stopped; one by trainjob; and one
that waits in a queue of Kueue. One sandbox for all, whose namespace enforces the restricted Pod
Security Standard (a pod that it admits, baseline and privileged admit as well)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.support.launch.cluster import ClusterSite, cluster_site
from tests.support.launch.site import PACE, environments

pytest.importorskip("torch", reason='training needs torch: pip install "playrunner[train]"')
ENDLESS = ("train.steps=100000", PACE, "train.log.every=1", "train.checkpoint.every=5")
SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
KUEUE = "/apis/kueue.x-k8s.io/v1beta1/namespaces/default"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("jobset")) as made:
        if not made.indexed:
            pytest.skip("this API server has no Indexed Jobs")
        made.install("jobset")
        made.enforce("restricted")
        yield made


def test_a_killed_jobset_begins_again_as_a_whole_and_stops_without_a_trace(
    cluster: ClusterSite,
) -> None:
    before = cluster.things()
    begun = cluster.launch(
        "whole", "--launcher", "jobset", "--nodes", 2, "--detach", settings=ENDLESS
    )
    assert begun.code == 0, begun.text
    cluster.await_step("whole", 1)
    seen = cluster.await_met("whole", 2)
    run = seen["run_id"]
    assert cluster.security(seen["pods"]) == ["restricted"] * 2
    first = {pod["name"] for pod in seen["pods"]}
    assert all(name.startswith(f"{run}-node-0-") for name in first)
    service = cluster.api.get(f"/api/v1/namespaces/default/services/{run}")
    assert service["spec"]["selector"] == {"jobset.sigs.k8s.io/jobset-name": run}
    cluster.await_step("whole", 6)
    second = f"POD_NAME={run}-node-0-1-".encode()
    killed = [
        pid
        for pid, environment in environments()
        if any(entry.startswith(second) for entry in environment)
    ]
    assert killed
    for pid in killed:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def restarted() -> bool:
        status = cluster.api.get(f"{SETS}/{run}").get("status") or {}
        return int(status.get("restarts") or 0) >= 1

    cluster.await_that(restarted, "a restart of the JobSet")
    why = cluster.ask("train.why", "--name", "whole", "--json")
    assert why.code == 0 and why.data["causes"], why.text
    again = cluster.await_met("whole", 2)
    assert not first & {pod["name"] for pod in again["pods"]}  # all of them are new
    assert again["step"] >= 5  # from its checkpoint
    stopped = cluster.ask("train.stop", "--name", "whole")
    assert stopped.code == 0, stopped.text
    assert cluster.things() == before


def test_a_trainjob_trains_in_the_pods_of_its_jobset_and_stops_without_a_trace(
    cluster: ClusterSite,
) -> None:
    cluster.install("trainjob")
    before = cluster.things()
    begun = cluster.launch(
        "modern", "--launcher", "trainjob", "--nodes", 2, "--detach", settings=ENDLESS
    )
    assert begun.code == 0, begun.text
    cluster.await_step("modern", 1)
    seen = cluster.await_met("modern", 2)
    assert cluster.security(seen["pods"]) == ["restricted"] * 2
    run = seen["run_id"]
    assert all(pod["name"].startswith(f"{run}-node-0-") for pod in seen["pods"])
    (owner,) = cluster.api.get(f"{SETS}/{run}")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("TrainJob", run)
    stopped = cluster.ask("train.stop", "--name", "modern")
    assert stopped.code == 0, stopped.text
    assert cluster.things() == before


def test_a_run_waits_in_a_queue_of_kueue_and_begins_when_it_is_admitted(
    cluster: ClusterSite,
) -> None:
    for plural, kind in (("localqueues", "LocalQueue"), ("workloads", "Workload")):
        cluster.api.call(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            _definition(plural, kind),
        )
    cluster.await_that(lambda: cluster.api.get(f"{KUEUE}/workloads") is not None, "Kueue's kinds")
    words = ("--launcher", "jobset", "--nodes", 1, "--detach")
    cluster.say(train_queue="team-a")
    refused = cluster.launch("queued", *words, settings=ENDLESS)
    assert refused.code != 0
    assert 'there is no LocalQueue "team-a" in namespace default (train_queue)' in refused.text
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue",
             "metadata": {"name": "team-a"}, "spec": {"clusterQueue": "all"}}  # fmt: skip
    cluster.api.call("POST", f"{KUEUE}/localqueues", queue)
    begun = cluster.launch("queued", *words, settings=ENDLESS)
    assert begun.code == 0, begun.text
    cluster.await_that(
        lambda: cluster.status("queued")["phase"] == "Queued", "a run that waits in the queue"
    )
    seen = cluster.status("queued")
    assert (seen["state"], seen["pods"]) == ("pending", [])
    held = cluster.api.get(f"{SETS}/{seen['run_id']}")
    assert held["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"
    assert held["spec"]["suspend"] is True
    message = "couldn't assign flavors to pod set node: insufficient unused quota for cpu"
    condition = {"type": "QuotaReserved", "status": "False", "reason": "Pending",
                 "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
    owner = {"apiVersion": held["apiVersion"], "kind": "JobSet",
             "name": seen["run_id"], "uid": held["metadata"]["uid"]}  # fmt: skip
    workload = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
                "metadata": {"name": "jobset-queued", "ownerReferences": [owner]},
                "spec": {"queueName": "team-a"}, "status": {"conditions": [condition]}}  # fmt: skip
    cluster.api.call("POST", f"{KUEUE}/workloads", workload)
    why = cluster.ask("train.why", "--name", "queued", "--json").data["causes"][0]
    assert why["title"] == "it waits in the queue team-a of Kueue: all 1 pods or none"
    assert message in why["evidence"][-1]
    # As Kueue does when it admits it
    cluster.api.merge(f"{SETS}/{seen['run_id']}", {"spec": {"suspend": False}})
    cluster.await_that(lambda: cluster.status("queued")["pods"], "its pod")
    stopped = cluster.ask("train.stop", "--name", "queued")
    assert stopped.code == 0, stopped.text


def _definition(plural: str, kind: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta1", "served": True, "storage": True,
               "schema": {"openAPIV3Schema": schema}}  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.kueue.x-k8s.io"},
        "spec": {
            "group": "kueue.x-k8s.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural,
                      "singular": kind.lower()},
            "versions": [version],
        },
    }  # fmt: skip
