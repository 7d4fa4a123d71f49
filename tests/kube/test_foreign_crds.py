"""Where an operator's own definitions are there already, ours do not fight them: they are used as
they are, and they stay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.kube.addon_stage import ROOT, AddonStage

FOLDER = ROOT.parent / "shared" / "data" / "crds"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FILES = {
    "volcano": (
        "volcano-jobs",
        "scheduling.volcano.sh_queues",
        "scheduling.volcano.sh_podgroups",
        "bus.volcano.sh_commands",
    ),
    "kubeflow": ("pytorchjobs",),
    "elastic": ("elasticjobs-v1",),
}

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the operators' own definitions are not at hand"
)


@pytest.fixture
def theirs(stage: AddonStage, request: pytest.FixtureRequest) -> Iterator[list[dict[str, Any]]]:
    """The definitions of one operator, applied as its own installation would."""
    old = int("".join(filter(str.isdigit, stage.api.call("GET", "/version")["minor"]))) < 25
    bodies = [yaml.safe_load(_file(name, old).read_text()) for name in FILES[request.param]]
    made = []
    try:
        for body in bodies:
            there = stage.api.call("POST", CRDS, body)
            assert there["kind"] == "CustomResourceDefinition", there
            made.append(
                stage.awaited(lambda name=body["metadata"]["name"]: _established(stage, name))
            )
        yield made
    finally:
        stage.clean_up()
        for body in bodies:
            stage.api.call("DELETE", f"{CRDS}/{body['metadata']['name']}")
        for body in bodies:
            stage.awaited(
                lambda name=body["metadata"]["name"]: stage.api.get(f"{CRDS}/{name}") is None
            )


@pytest.mark.parametrize(("role", "theirs"), [(role, role) for role in FILES], indirect=["theirs"])
def test_definitions_of_the_operator_itself_are_used_and_stay(
    stage: AddonStage, role: str, theirs: list[dict[str, Any]]
) -> None:
    made = stage.create(role)
    assert made.code == 0, made.messages
    again = stage.create(role)
    assert again.code == 0 and again.changed == [], again.statuses
    gone = stage.delete(role)
    assert gone.code == 0, gone.data
    for before in theirs:
        after = stage.api.get(f"{CRDS}/{before['metadata']['name']}")
        assert after is not None and after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["spec"] == before["spec"] and "playrunner.io/set" not in (
            after["metadata"].get("labels") or {}
        )


def _file(name: str, old: bool) -> Path:
    """Of an API server of long ago: the file without what it refuses."""
    reduced = FOLDER / f"{name}-for-1.20.yaml"
    return reduced if old and reduced.is_file() else FOLDER / f"{name}.yaml"


def _established(stage: AddonStage, name: str) -> Any:
    found = stage.api.get(f"{CRDS}/{name}")
    told = {
        one["type"]: one["status"]
        for one in ((found or {}).get("status") or {}).get("conditions") or ()
    }
    return found if told.get("Established") == "True" else None
