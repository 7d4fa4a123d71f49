"""Runs that nothing will bring on any more, and nodes that let a run fail again, as pods and jobs
tell of them."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.kube.client.client import Cluster, Kube
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.runs import give_up
from playrunner.training.kube.runs.give_up import not_watched
from playrunner.training.kube.runs.run_view import ClusterRun

RUNNING = {"status": {"conditions": [{"type": "Running", "status": "True"}]}}


def run(launcher: str = "pytorchjob") -> ClusterRun:
    return ClusterRun(
        {
            "name": "run",
            "run_id": "run-hpz",
            "namespace": "default",
            "launcher": launcher,
            "replicas": 2,
        },
        Status("pending"),
    )


def pod(
    name: str, node: str = "n", phase: str = "Running", restarts: int = 0, ended: str = ""
) -> dict[str, Any]:
    last = (
        {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": ended}}
        if ended
        else {}
    )
    return {
        "metadata": {"name": name},
        "spec": {"nodeName": node},
        "status": {
            "phase": phase,
            "containerStatuses": [
                {
                    "name": "pytorch",
                    "restartCount": restarts,
                    "state": {"running": {}},
                    "lastState": last,
                }
            ],
        },
    }


def test_a_job_without_status_and_pods_has_no_operator() -> None:
    seen = not_watched(run(), {}, [])
    assert seen and seen.state == "failed" and "invoke kubeflow.create installs it" in seen.reason
    assert not_watched(run(), RUNNING, []) is None, "its pods are on their way"


@pytest.mark.parametrize(
    ("phases", "state"),
    [
        (("Succeeded", "Succeeded"), "finished"),
        (("Succeeded", "Failed"), "failed"),
        (("Succeeded", "Running"), None),
        (("Succeeded",), None),
    ],
)
def test_pods_that_have_all_ended_speak_for_a_job_whose_operator_does_not(
    phases: tuple[str, ...], state: str | None
) -> None:
    seen = not_watched(
        run(), RUNNING, [pod(f"run-{at}", phase=phase) for at, phase in enumerate(phases)]
    )
    assert (seen.state if seen else None) == state


def test_a_run_whose_pods_do_not_start_it_again_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(give_up, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(give_up, "NOT_RESTARTED_SECONDS", 0.0)
    kube = Kube(Cluster(lambda: pytest.fail("the pods tell it all")))
    patient = give_up.GiveUpPolicy(kube, run(), 300)
    killed, spent = pod("run-0", ended="2026-01-01T00:00:00Z"), pod("run-1", ended="2026")
    spent["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] = 79
    assert patient.judge(RUNNING, [killed]) is None
    seen = patient.judge(RUNNING, [killed, spent])
    assert seen and (seen.state, seen.phase) == ("failed", "NotRestarted") and patient.given_up


def test_what_the_cluster_itself_looks_after_is_left_to_it() -> None:
    assert (
        not_watched(run("job"), {}, [pod("run-0", phase="Failed"), pod("run-1", phase="Failed")])
        is None
    )
