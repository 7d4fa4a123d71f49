"""What holds for the rendered job of every launcher."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from playrunner.training.kube.job_spec.names import SUMMARY
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.session import ClusterSettings
from tests.support.launch.rendered import (
    ID,
    cpus,
    own_state,  # noqa: F401
)
from tests.support.launch.rendering import container, environment, planned, rendered


@pytest.mark.parametrize("launcher", KINDS)
def test_every_launcher_runs_the_same_trainer_with_the_same_environment(launcher: str) -> None:
    plain, other = (
        rendered(planned(each, "gpt2-micro-smoke", cpus(), 2)) for each in ("job", launcher)
    )
    first, second = pod_of(plain), pod_of(other)
    differs = {"TRAINER_FIRST"}  # how the pod at which all meet knows itself
    assert {key: value for key, value in environment(first).items() if key not in differs} == {
        key: value for key, value in environment(second).items() if key not in differs
    }
    words = [
        container(pod)["args"][container(pod)["args"].index("-m") :] for pod in (first, second)
    ]
    assert (
        words[0]
        == words[1]
        == [
            "-m",
            "trainer",
            "--profile",
            "/etc/playrunner/profile.yaml",
            "--output",
            "/data/runs/bert/output",
        ]
    )
    assert container(first)["command"] == container(second)["command"]


@pytest.mark.parametrize("launcher", KINDS)
def test_code_and_profile_travel_with_the_run_and_fit(launcher: str) -> None:
    files = rendered(planned(launcher, "gpt2-micro-smoke", cpus(), 2))["ConfigMap"]
    packed = base64.b64decode(files["binaryData"]["code.tar.gz"])
    assert b"trainer/loop/loop.py" in gzip.decompress(packed)
    assert len(json.dumps(files)) < 1 << 20
    assert yaml.safe_load(files["data"]["profile.yaml"])["train"]["steps"] == 100
    assert len(files["metadata"]["annotations"]["playrunner.io/code"]) == 16


@pytest.mark.parametrize("launcher", KINDS)
def test_a_run_is_known_again_from_any_machine_by_what_its_job_carries(launcher: str) -> None:
    job = planned(launcher, "gpt2-micro-smoke", cpus(), 2)
    thing = next(each for kind, each in rendered(job).items() if "Job" in kind)
    assert json.loads(thing["metadata"]["annotations"][SUMMARY]) == job.summary()
    assert thing["metadata"]["labels"]["playrunner.io/training"] == "bert"


@pytest.mark.parametrize("launcher", [name for name, kind in KINDS.items() if kind.queued])
def test_a_job_in_a_queue_of_kueue_begins_suspended_so_that_it_starts_as_a_gang(
    launcher: str,
) -> None:
    job = replace(planned(launcher, "gpt2-micro-smoke", cpus(), 2), queue="team-a")
    thing = rendered(job)[KINDS[launcher].resource[1]]
    assert thing["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"
    held = thing["spec"]["runPolicy"] if launcher == "pytorchjob" else thing["spec"]
    assert held["suspend"] is True


def test_an_image_that_has_the_trainer_gets_no_code() -> None:
    objects = rendered(
        planned(
            "job",
            "gpt2-micro-smoke",
            cpus(),
            2,
            ClusterSettings(image="i:hash", claim="c", code="image"),
        )
    )
    assert not objects["ConfigMap"]["binaryData"]
    assert "TRAINER_CODE" not in environment(pod_of(objects))


def test_secrets_are_read_from_a_secret_and_are_nowhere_else() -> None:
    from dataclasses import replace

    from playrunner.training.environment.variable import Variable

    job = planned("job", "gpt2-micro-smoke", cpus(), 2)
    hidden = replace(
        job,
        environment=(
            *job.environment,
            Variable("HF_TOKEN", "hf_very_secret", "asked for", "inventory"),
        ),
    )
    objects = rendered(hidden)
    assert "hf_very_secret" not in json.dumps(objects)
    assert container(pod_of(objects))["envFrom"] == [{"secretRef": {"name": ID}}]


def pod_of(objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    thing = next(each for kind, each in objects.items() if "Job" in kind)
    spec = thing["spec"]
    if "TrainingRuntime" in objects:
        spec = objects["TrainingRuntime"]["spec"]["template"]["spec"]
    if "replicatedJobs" in spec:
        found = spec["replicatedJobs"][0]["template"]["spec"]["template"]
    elif "tasks" in spec:
        found = spec["tasks"][0]["template"]
    elif "template" in spec:
        found = spec["template"]
    else:
        replicas = spec.get("pytorchReplicaSpecs") or spec["replicaSpecs"]
        found = next(iter(replicas.values()))["template"]
    return dict(found)
