"""What the operators write is what their own definitions allow: tried with those, where they are at
hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from playrunner.sandbox.kube.controllers.framework.resources import Resource
from tests.support.kube.operator_jobs import Object, elastic_job, pytorch_job, volcano_job
from tests.support.kube.operators_stage import cluster_with

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "crds"


def theirs(resource: Resource) -> Object:
    for file in FOLDER.glob("*.yaml"):
        text = file.read_text()
        # Not a variant for one old server; and only what is meant is read, since some are huge.
        if "-for-" not in file.name and f"\n  name: {resource.definition}\n" in text:
            return dict(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    raise AssertionError(f"{FOLDER} has no {resource.definition}")


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the operators' own definitions are not here")
def test_every_operator_works_with_its_own_definitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "PLAYRUNNER_TEST_KUBE", "pretend"
    )  # they need a newer server than the real one may be
    with cluster_with(theirs, tmp_path / "sandbox") as cluster:
        cluster.create(
            pytorch_job("one", masters=1, workers=1, policy={"cleanPodPolicy": "Running"})
        )
        cluster.create(elastic_job("two", workers=1))
        policies = [{"event": "PodFailed", "action": "RestartJob"}]
        cluster.create(
            volcano_job(
                "three",
                script="exit 1",
                maxRetry=1,
                plugins={"svc": [], "env": []},
                policies=policies,
            )
        )
        jobs = (
            ("kubeflow.org/v1", "pytorchjobs", "one"),
            ("elastic.pytorch.org/v1alpha1", "elasticjobs", "two"),
        )
        for job in jobs:
            cluster.awaited(lambda job=job: cluster.condition(*job) == "Succeeded", job[2])  # type: ignore[misc]
        cluster.awaited(lambda: cluster.phase("three") == "Failed", "the third")
