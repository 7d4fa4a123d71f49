"""Gangs: what a launch makes is placed by Volcano as a whole, in a queue that has room for it. The
kinds are defined as the operators themselves define them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kube.addon_stage import ROOT, AddonStage
from tests.support.kube.definitions import FOLDER, INDEXED, defined, minor_version, their_definition
from tests.support.kube.rendering import container_of

SCHEDULING = "scheduling.volcano.sh/v1beta1"
THEIRS = (
    "pytorchjobs",
    "volcano-jobs",
    "scheduling.volcano.sh_queues",
    "scheduling.volcano.sh_podgroups",
    "bus.volcano.sh_commands",
)

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the operators' own definitions are not at hand"
)


@pytest.fixture
def namespace(stage: AddonStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One where a run has all that it needs; the kinds are those of the operators themselves."""
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(ROOT)
    namespace = stage.namespace()
    stage.claim(namespace, "data")
    for name in ("a", "b"):
        stage.machine(name, "m5.large", {})
    stage.variables |= {
        "train_namespace": namespace,
        "train_claim": "data",
        "train_image": "registry.test/trainer:1",
        "train_node_selector": {"own": stage.own},
        "train_queue": "test",
        "train_scheduler": "volcano",
    }
    with defined(stage, [their_definition(stage, name) for name in THEIRS]):
        yield namespace
        stage.clean_up()


def launch(stage: AddonStage, launcher: str, *more: object) -> Any:
    words = ("--profile", "gpt2-micro-smoke", "--launcher", launcher, "--nodes", 2, "--detach")
    return stage.invoke("train.launch", *words, *more)


def test_a_pytorchjob_is_a_gang_where_volcano_schedules(stage: AddonStage, namespace: str) -> None:
    made = stage.create("volcano")
    assert made.code == 0, made.messages
    made = stage.create("kubeflow", kubeflow_gang_scheduler="volcano")
    assert made.code == 0, made.messages
    operator = stage.object("apps/v1", "deployments", "training-operator", "kubeflow")
    assert "--gang-scheduler-name=volcano" in container_of(operator)["args"]
    launched = launch(stage, "pytorchjob")
    assert launched.code == 0, launched.text
    (job,) = stage.objects("kubeflow.org/v1", "pytorchjobs", "", namespace)
    policy = job["spec"]["runPolicy"]["schedulingPolicy"]
    assert policy == {"minAvailable": 2, "queue": "test"}
    run = job["metadata"]["name"]
    group = stage.awaited(lambda: stage.object(SCHEDULING, "podgroups", run, namespace))
    assert group["spec"].items() >= {"minMember": 2, "queue": "test"}.items()
    pods = stage.awaited(lambda: _both(stage.objects("v1", "pods", "", namespace)))
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
    named = {pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] for pod in pods}
    assert named == {run}


def test_an_elastic_pytorchjob_begins_with_its_least(stage: AddonStage, namespace: str) -> None:
    _queue(stage, cpu="64")
    bounds = ("--set", "launch.min_nodes=1", "--set", "launch.max_nodes=2")
    launched = launch(stage, "pytorchjob", *bounds)
    assert launched.code == 0, launched.text
    (job,) = stage.objects("kubeflow.org/v1", "pytorchjobs", "", namespace)
    assert job["spec"]["runPolicy"]["schedulingPolicy"]["minAvailable"] == 1


@pytest.mark.parametrize("launcher", ["vcjob", "pytorchjob"])
def test_a_job_that_is_larger_than_its_queue_is_refused_in_one_line_and_nothing_is_made(
    stage: AddonStage, namespace: str, launcher: str
) -> None:
    _queue(stage, cpu="100m", memory="64Mi")
    refused = launch(stage, launcher)
    (line,) = [one for one in refused.text.splitlines() if "the queue" in one]
    assert refused.code == 6, refused.text
    assert 'the queue "test" gives 0.1 cpu, 0.0625Gi memory at most, and the job asks for' in line
    assert "raise its capability" in line and "or use fewer nodes" in line
    assert stage.objects("v1", "configmaps", "playrunner.io/training", namespace) == []
    assert stage.objects("batch.volcano.sh/v1alpha1", "jobs", "", namespace) == []
    assert stage.objects("kubeflow.org/v1", "pytorchjobs", "", namespace) == []
    _queue(stage, cpu="64", memory="256Gi")
    assert launch(stage, launcher).code == 0


def test_an_operator_that_makes_no_gangs_is_refused(stage: AddonStage, namespace: str) -> None:
    _queue(stage, cpu="64")
    made = stage.create("kubeflow")
    assert made.code == 0, made.messages
    refused = launch(stage, "pytorchjob")
    assert refused.code == 6 and "the training operator makes no gangs" in refused.text
    assert "kubeflow_gang_scheduler=volcano" in refused.text
    assert stage.objects("kubeflow.org/v1", "pytorchjobs", "", namespace) == []


def test_other_kinds_of_jobs_are_told_that_the_scheduler_is_not_theirs(
    stage: AddonStage, namespace: str
) -> None:
    if minor_version(stage) < INDEXED:
        pytest.skip(f"Indexed Jobs came with 1.{INDEXED}; a launch on this server is refused")
    launched = launch(stage, "job", "--check")
    assert "train_scheduler volcano is not used" in launched.text


def _both(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return pods if len(pods) == 2 else []


def _queue(stage: AddonStage, **capability: str) -> None:
    body = {"metadata": {"name": "test"}, "spec": {"weight": 1, "capability": capability}}
    path = f"/apis/{SCHEDULING}/queues"
    if stage.api.get(f"{path}/test"):
        stage.api.merge(f"{path}/test", body)
    else:
        head = {"apiVersion": SCHEDULING, "kind": "Queue"}
        made = stage.api.call("POST", path, {**head, **body})
        assert made["kind"] == "Queue", made
