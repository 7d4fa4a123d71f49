"""PyTorchJobs and ElasticJobs in a cluster that moves: objects in, processes that run, status
out."""

from __future__ import annotations

from pathlib import Path

from playrunner.sandbox.kube.operators.installed import TRAINING_OPERATOR
from tests.support.kube.client import MERGE_PATCH
from tests.support.kube.operator_jobs import elastic_job, pytorch_job
from tests.support.kube.operators_stage import Cluster

PYTORCH = ("kubeflow.org/v1", "pytorchjobs")
ELASTIC = ("elastic.pytorch.org/v1alpha1", "elasticjobs")
LONG = "trap 'exit 0' TERM; sleep 600 & wait"


def test_a_master_and_its_worker_find_each_other_and_end_well(place: Cluster) -> None:
    script = (
        "echo rank=$RANK of=$WORLD_SIZE nodes=$PET_NNODES; getent hosts $MASTER_ADDR && echo found"
        " $MASTER_ADDR"
    )
    # The master stays until its worker has seen it: its name goes with it.
    both = pytorch_job("pair", masters=1, workers=1, script=script, nprocPerNode="2")
    waiting = (
        f"{script}; for i in $(seq 600); do getent hosts pair-worker-0 && exit 0; sleep 0.1; done;"
        " exit 1"
    )
    both["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["command"][
        2
    ] = waiting
    both["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"][
        2
    ] = f"{script} && {LONG}"
    both["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
    place.create(both)
    place.awaited(lambda: place.condition(*PYTORCH, "pair") == "Succeeded", "success")
    assert "rank=0 of=4 nodes=2" in place.log("pair-master-0")
    place.awaited(lambda: set(place.pods()) == {"pair-master-0"}, "the worker's end")
    events = place.events("pair")
    assert {
        "SuccessfulCreatePod",
        "SuccessfulCreateService",
        "PyTorchJobRunning",
        "PyTorchJobSucceeded",
    } <= set(events)


def test_workers_are_added_and_taken_away_by_scale(place: Cluster) -> None:
    place.create(
        pytorch_job(
            "wide", workers=2, script=LONG, elasticPolicy={"minReplicas": 1, "maxReplicas": 3}
        )
    )
    place.awaited(lambda: place.condition(*PYTORCH, "wide") == "Running", "running")
    scale = f"/apis/kubeflow.org/v1/namespaces/{place.namespace}/pytorchjobs/wide/scale"
    for replicas in (1, 3):
        place.client.ok("PATCH", scale, {"spec": {"replicas": replicas}}, form=MERGE_PATCH)
        names = {f"wide-worker-{index}" for index in range(replicas)}
        place.awaited(lambda names=names: set(place.pods()) == names, f"{replicas} pods")  # type: ignore[misc]
        place.awaited(
            lambda n=replicas: place.client.ok("GET", scale)["status"].get("replicas", 0) == n,
            "their count",
        )  # type: ignore[misc]


def test_a_pod_that_is_lost_comes_back_under_its_name(place: Cluster) -> None:
    place.create(pytorch_job("kept", workers=1, script=LONG))
    before = place.awaited(
        lambda: place.condition(*PYTORCH, "kept") == "Running" and place.pods(), "running"
    )["kept-worker-0"]
    place.delete("v1", "pods", "kept-worker-0", gracePeriodSeconds=0)
    after = place.awaited(
        lambda: (
            place.pods().get("kept-worker-0", before)["metadata"]["uid"]
            != before["metadata"]["uid"]
            and place.pods()["kept-worker-0"]
        ),
        "another pod",
    )
    assert after["metadata"]["ownerReferences"][0]["name"] == "kept"


def test_an_operator_acts_only_while_its_pod_is_ready(place: Cluster) -> None:
    deployment = ("apps/v1", "deployments", TRAINING_OPERATOR.deployment)
    place.merge(*deployment, {"spec": {"replicas": 0}}, TRAINING_OPERATOR.namespace)
    try:
        place.awaited(lambda: not place.operator_pods(TRAINING_OPERATOR), "its absence")
        place.create(pytorch_job("early", workers=1))
        place.create(elastic_job("other", workers=1))  # by another operator, which is there
        place.awaited(lambda: place.condition(*ELASTIC, "other") == "Succeeded", "the other job")
        assert "status" not in (place.get(*PYTORCH, "early") or {})
        assert set(place.pods()) == {"other-worker-0"}
    finally:
        place.merge(*deployment, {"spec": {"replicas": 1}}, TRAINING_OPERATOR.namespace)
    place.awaited(lambda: place.condition(*PYTORCH, "early") == "Succeeded", "the first job")


def test_an_operator_that_is_restarted_takes_its_jobs_up_again(place: Cluster) -> None:
    place.create(pytorch_job("long", workers=1, script=LONG, elasticPolicy={"minReplicas": 1}))
    place.awaited(lambda: place.condition(*PYTORCH, "long") == "Running", "running")
    uid = place.pods()["long-worker-0"]["metadata"]["uid"]
    for old in place.operator_pods(TRAINING_OPERATOR):
        place.delete(
            "v1", "pods", old["metadata"]["name"], TRAINING_OPERATOR.namespace, gracePeriodSeconds=0
        )
    place.merge(*PYTORCH, "long", {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}})
    place.awaited(lambda: "long-worker-1" in place.pods(), "the second pod")
    assert place.pods()["long-worker-0"]["metadata"]["uid"] == uid


def test_an_elastic_job_tries_again_after_a_signal_and_says_so_in_the_object_itself(
    place: Cluster, tmp_path: Path
) -> None:
    marker = tmp_path / "been-here"
    place.create(
        elastic_job(
            "again", workers=1, script=f"test -e {marker} && exit 0; touch {marker}; exit 137"
        )
    )
    place.awaited(lambda: place.condition(*ELASTIC, "again") == "Succeeded", "success")
    assert (
        "again is restarting because 1 Worker replica(s) failed."
        in place.events("again")["ElasticJobRestarting"]
    )
    status = (place.get(*ELASTIC, "again") or {})["status"]
    assert status["replicaStatuses"]["Worker"]["succeeded"] == 1


def test_an_elastic_job_whose_program_fails_ends_failed(place: Cluster) -> None:
    place.create(elastic_job("wrong", workers=1, script="echo this is why; exit 3"))
    place.awaited(lambda: place.condition(*ELASTIC, "wrong") == "Failed", "the failure")
    assert "this is why" in place.log("wrong-worker-0")  # pods stay to be looked at


def test_an_ended_job_cleans_up_and_goes_as_it_says(place: Cluster) -> None:
    place.create(
        pytorch_job(
            "brief", workers=1, policy={"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 1}
        )
    )
    place.awaited(lambda: place.get(*PYTORCH, "brief") is None, "its end")
    place.awaited(
        lambda: not place.pods() and not place.list("v1", "services"), "the end of all that was its"
    )


def test_a_deleted_job_takes_its_pods_and_services_along(place: Cluster) -> None:
    place.create(pytorch_job("dropped", workers=1, script=LONG))
    place.awaited(lambda: place.condition(*PYTORCH, "dropped") == "Running", "running")
    place.delete(*PYTORCH, "dropped")
    place.awaited(
        lambda: not place.pods() and not place.list("v1", "services"), "the end of all that was its"
    )
