"""A wait that lasts says why before its time is over, also without a terminal; the times after
which it does are shortened here."""

from __future__ import annotations

import pytest

from playrunner.kube.objects import wait
from playrunner.output import report
from tests.modules.k8s.test_manifest import config, step
from tests.modules.k8s.test_races import HOOKS, webhook
from tests.modules.k8s.test_ready import LABELS, deployment
from tests.support.kube.module_stage import KubeStage


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    assert report.STILL_SECONDS <= 30 and wait.REASON_SECONDS < report.STILL_SECONDS
    monkeypatch.setattr(report, "STILL_SECONDS", 1.0)
    monkeypatch.setattr(wait, "REASON_SECONDS", 0.3)


def test_a_deployment_that_cannot_start_is_told_with_its_pods_reason_while_it_is_waited_for(
    stage: KubeStage,
) -> None:
    pods = f"/api/v1/namespaces/{stage.namespace}/pods"
    pod = {
        "metadata": {"name": "web-1", "labels": LABELS},
        "spec": {"containers": [{"name": "main", "image": "web:1"}]},
    }
    stage.api.call("POST", pods, pod)
    unscheduled = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    }
    stage.api.status(f"{pods}/web-1", phase="Pending", conditions=[unscheduled])
    lines = stage.told([step(stage, deployment(), timeout=4)]).splitlines()
    told = [line for line in lines if "still running after" in line]
    assert told and "no node has the labels its node selector or affinity asks for" in told[-1], (
        lines
    )


def test_a_webhook_that_does_not_answer_is_named_while_it_is_waited_for(stage: KubeStage) -> None:
    stage.api.call("POST", HOOKS, webhook(stage))
    try:
        lines = stage.told(
            [step(stage, config("one", a="1"), record="default", timeout=3)]
        ).splitlines()
    finally:
        stage.api.call("DELETE", f"{HOOKS}/{stage.own}")
    told = [line for line in lines if "still running after" in line]
    assert told and 'the admission webhook "late.example.com" does not answer' in told[0], lines
