"""`launch.max_restarts=0` in the rendered jobs: no controller tries again."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.training.kube.session import ClusterSettings
from tests.launch.unit.cluster.test_rendering import gpus, trainium
from tests.support.launch.rendered import own_state  # noqa: F401
from tests.support.launch.rendering import planned, rendered


@pytest.mark.parametrize(
    ("launcher", "kind", "retries"),
    [
        ("job", "Job", ("backoffLimit",)),
        ("deepspeedjob", "Job", ("backoffLimit",)),
        ("jobset", "JobSet", ("failurePolicy", "maxRestarts")),
        ("pytorchjob", "PyTorchJob", ("runPolicy", "backoffLimit")),
        ("elasticjob", "ElasticJob", ("backoffLimit",)),
    ],
)
def test_without_restarts_no_controller_tries_again(
    launcher: str, kind: str, retries: tuple[str, ...]
) -> None:
    spec = rendered(
        planned(launcher, "llama2-7b", gpus(), 2, overrides=("launch.max_restarts=0",))
    )[kind]["spec"]
    found: Any = spec
    for name in retries:
        found = found[name]
    assert found == 0
    assert "OnFailure" not in str(spec)


def test_volcano_is_told_to_end_a_job_since_it_takes_no_retries_for_three() -> None:
    settings = ClusterSettings(image="i", claim="fsx-claim", queue="test")
    job = planned(
        "vcjob", "bert-large", trainium(), 2, settings, overrides=("launch.max_restarts=0",)
    )
    spec = rendered(job)["Job"]["spec"]
    assert spec["maxRetry"] == 1
    policies = spec["tasks"][0]["policies"]
    actions = {one["event"]: one["action"] for one in policies if "event" in one}
    assert actions == {"PodEvicted": "RestartJob", "PodFailed": "TerminateJob"}
