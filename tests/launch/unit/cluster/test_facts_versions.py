"""The guides' pods, plain Jobs and Services are valid Kubernetes in every version we speak of, no
field unknown to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playrunner.training.kube.job_spec.dry_run import pod_of
from tests.launch.unit.cluster.facts.guides import JOBS
from tests.support.launch.rendering import rendered

VERSIONS = [f"1.{minor}" for minor in range(29, 37)]
Objects = dict[tuple[str, str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Objects:
    """By apiVersion and kind: the schema of a kind takes longer to read than to use."""
    found: Objects = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path_factory.mktemp("versions")))
        patch.chdir(Path(__file__).parents[4])
        for made in JOBS.values():
            job = made()
            for thing in [pod_of(job), *rendered(job).values()]:
                if thing["apiVersion"] in ("v1", "batch/v1"):
                    found.setdefault((thing["apiVersion"], thing["kind"]), []).append(thing)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_launch_makes_is_valid_in_every_version(version: str, objects: Objects) -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason='objects are checked with "kubernetes-validate"'
    )
    assert {kind for _, kind in objects} == {"Pod", "ConfigMap", "Service", "Job"}
    for (api_version, kind), things in objects.items():
        every = {"apiVersion": api_version, "kind": f"{kind}List", "metadata": {}, "items": things}
        validate.validate(every, version, strict=True)


def test_a_field_that_no_pod_has_is_noticed(objects: Objects) -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason='objects are checked with "kubernetes-validate"'
    )
    pod = objects["v1", "Pod"][0]
    wrong = {**pod, "spec": {**pod["spec"], "nodeselector": {}}}
    with pytest.raises(validate.ValidationError, match="nodeselector"):
        validate.validate(wrong, VERSIONS[-1], strict=True)
