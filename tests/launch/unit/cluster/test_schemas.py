"""The rendered jobs are accepted under the operators' own schemas, where those are at hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.sandbox.kube.process import process
from tests.support.kube.module_stage import Api
from tests.support.launch.rendering import node, planned, rendered
from tests.support.until import until

CRDS = Path(__file__).parents[5] / "shared" / "data" / "crds"
WHERE = {
    "Job": "batch.volcano.sh/v1alpha1/namespaces/default/jobs",
    "PyTorchJob": "kubeflow.org/v1/namespaces/default/pytorchjobs",
    "ElasticJob": "elastic.pytorch.org/v1alpha1/namespaces/default/elasticjobs",
}

pytestmark = pytest.mark.skipif(
    not CRDS.is_dir(), reason="the operators' schemas are not beside this checkout"
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An API server with the operators' own definitions."""
    root = tmp_path_factory.mktemp("schemas")
    real = os.environ.get("PLAYRUNNER_TEST_KUBE") == "real"
    up = process.up(root, pretend=not real)
    found = Api(Path(up.kubeconfig), up.flavour)
    ending = "-for-1.20" if up.flavour == "real" else ""
    for name in (f"pytorchjobs{ending}", f"volcano-jobs{ending}", "elasticjobs-v1"):
        for crd in yaml.safe_load_all((CRDS / f"{name}.yaml").read_text()):
            if crd:
                found.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    until(
        lambda: [where for where in WHERE.values() if found.get(f"/apis/{where}") is None],
        lambda missing: not missing,
        what="the definitions served",
    )
    yield found
    process.down(root)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("launcher", "kind", "settings"),
    [
        ("vcjob", "Job", ()),
        ("pytorchjob", "PyTorchJob", ()),
        ("elasticjob", "ElasticJob", ()),
        ("pytorchjob", "PyTorchJob", ("launch.min_nodes=1", "launch.max_nodes=2")),
    ],
)
def test_the_operator_s_own_schema_takes_the_job_as_it_is(
    api: Api, launcher: str, kind: str, settings: tuple[str, ...]
) -> None:
    job = planned(launcher, "gpt2-micro-smoke", [node("a"), node("b")], 2, overrides=settings)
    thing: dict[str, Any] = rendered(job)[kind]
    said = api.call("POST", f"/apis/{WHERE[kind]}?dryRun=All&fieldValidation=Strict", thing)
    assert said.get("kind") == kind, said
    kept = {
        key: value
        for key, value in thing["spec"].items()
        if key in ("plugins", "queue", "minReplicas", "elasticPolicy")
    }
    assert {key: said["spec"].get(key) for key in kept} == kept


def test_a_field_that_the_operator_does_not_know_is_refused(api: Api) -> None:
    thing = rendered(planned("vcjob", "gpt2-micro-smoke", [node("a"), node("b")], 2))["Job"]
    thing["spec"]["minimumAvailable"] = 2
    said = api.call("POST", f"/apis/{WHERE['Job']}?dryRun=All&fieldValidation=Strict", thing)
    assert said["kind"] == "Status" and "minimumAvailable" in said["message"]
