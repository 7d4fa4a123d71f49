"""Drills that no retry can help: the run stops, its words and train.why name the cause, and nothing
of it is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.sandbox.kube.operators.installed import ELASTIC_JOB_CONTROLLER, TRAINING_OPERATOR
from tests.support.launch.cluster import ClusterSite, cluster_site, storage
from tests.support.launch.drill import Drill
from tests.support.launch.site import PACE


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("given-up")) as made:
        if made.api.flavour == "real":
            pytest.skip("a real API server takes no orders")
        yield made


@pytest.fixture
def drill(cluster: ClusterSite) -> Drill:
    made = Drill(cluster)
    made.spare()
    return made


def test_a_pod_killed_for_memory_more_often_than_it_may_ends_the_run_with_the_cause(
    drill: Drill,
) -> None:
    running = drill.begin(
        "starved", "job", "launch.max_restarts=1", "train.steps=100000", PACE, nodes=1
    )
    struck: set[str] = set()

    def strike() -> bool:
        for pod in drill.pods("starved"):
            name = pod["metadata"]["name"]
            if name not in struck and drill.runs(name, 0):
                struck.add(name)
                drill.steer("POST", f"pods/default/{name}/oom", {})
        return running.poll() is not None

    drill.cluster.await_that(strike, "its end")
    drill.fail("starved", running, "memory")
    assert len(struck) == 2, "it was tried again once"
    drill.release_all()


@pytest.mark.parametrize("launcher", ["job", "jobset", "pytorchjob", "vcjob"])
def test_without_restarts_the_first_failure_ends_the_run(drill: Drill, launcher: str) -> None:
    name = f"once-{launcher}"
    running = drill.begin(
        name, launcher, "launch.max_restarts=0", "train.steps=100000", PACE, nodes=1
    )
    (pod,) = drill.pods(name)
    drill.steer("POST", f"pods/default/{pod['metadata']['name']}/oom", {})
    drill.cluster.await_that(lambda: running.poll() is not None, "its end")
    drill.fail(name, running, "memory")


@pytest.mark.parametrize(
    "launcher", ["job", "deepspeedjob", "jobset", "pytorchjob", "elasticjob", "vcjob"]
)
def test_a_script_that_always_fails_starts_as_often_as_it_may_whatever_keeps_its_pods(
    drill: Drill, launcher: str, tmp_path: Path
) -> None:
    name, script = f"always-{launcher}", tmp_path / "fails.py"
    script.write_text(
        "import os\nwith open(os.environ['RUN_DIR'] + '/starts', 'a') as file:\n"
        "    print(os.environ['RANK'], file=file)\nraise RuntimeError('as ever')\n"
    )
    cluster = drill.cluster
    cluster.install(launcher)
    words = ("--script", script, "--name", name, "--nodes", 1, "--launcher", launcher, "--json")
    ended = cluster.ask("train.launch", *words, "--set", "launch.max_restarts=1")
    assert ended.code == 100, ended.text
    assert "not started again: launch.max_restarts 1 is used up" in ended.data["reason"]
    starts = (cluster.shared / "runs" / name / "output" / "starts").read_text().splitlines()
    assert starts == ["0", "0"], "it was tried again once"
    why = cluster.ask("train.why", "--name", name)
    assert "it is not started again: launch.max_restarts 1 is used up" in why.out, why.text
    drill.leave(name)


def test_a_run_whose_claim_is_lost_stops_and_says_so(drill: Drill) -> None:
    cluster = drill.cluster
    for path, thing in storage("doomed", cluster.state / "sandbox" / "data"):
        assert cluster.api.call("POST", path, thing)["kind"] != "Status"
    cluster.say(train_claim="doomed", train_patience_seconds=3)
    try:
        running = drill.begin("homeless", "job", "train.steps=100000", PACE, nodes=1)
        cluster.api.call("DELETE", "/api/v1/namespaces/default/persistentvolumeclaims/doomed")
        drill.steer("POST", f"pods/default/{drill.pods('homeless')[0]['metadata']['name']}/oom", {})
        drill.fail("homeless", running, "its claim doomed is gone")
    finally:
        cluster.say()


def test_a_run_that_no_operator_takes_up_is_given_up_and_says_why(drill: Drill) -> None:
    drill.cluster.install("elasticjob")
    with drill.without(ELASTIC_JOB_CONTROLLER):
        running = drill.cluster.begin("ignored", "--nodes", 2, "--launcher", "elasticjob", "--json")
        drill.fail(
            "ignored", running, "its operator does not run: invoke elastic.create installs it"
        )


def test_a_run_that_its_operators_webhook_does_not_let_in_leaves_nothing_and_says_why(
    drill: Drill,
) -> None:
    drill.cluster.install("pytorchjob")
    with drill.without(TRAINING_OPERATOR):
        refused = drill.cluster.launch("unasked", "--nodes", 2, "--launcher", "pytorchjob")
        assert (
            refused.code == 2 and "does not answer" in refused.text and "webhook" in refused.text
        ), refused.text
        drill.gone("unasked")
