"""Definitions of the operators' kinds of jobs: the operators' own, where they are at hand, and
ours; in a cluster for a while."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import yaml

from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import ROOT, rendered

FOLDER = ROOT.parent / "shared" / "data" / "crds"
PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FILES = {"volcano": "volcano-jobs", "kubeflow": "pytorchjobs", "elastic": "elasticjobs-v1"}
KINDS = {
    "volcano": "jobs.batch.volcano.sh",
    "kubeflow": "pytorchjobs.kubeflow.org",
    "elastic": "elasticjobs.elastic.pytorch.org",
}
NODES = {
    "volcano_nodes": {"nodes": [], "allocatable": {}}
}  # what another step of the role would register


def theirs(stage: AddonStage, role: str) -> dict[str, Any]:
    """The operator's own definition of its jobs."""
    return their_definition(stage, FILES[role])


def their_definition(stage: AddonStage, name: str) -> dict[str, Any]:
    """One of their files; for API servers of long ago, without what they refuse."""
    reduced = FOLDER / f"{name}-for-1.20.yaml"
    old = minor_version(stage) < 25 and reduced.is_file()
    return dict(yaml.safe_load((reduced if old else FOLDER / f"{name}.yaml").read_text()))


def ours(role: str) -> dict[str, Any]:
    """As `ROLE.create` brings it."""
    bodies = yaml.safe_load_all(rendered(role, ["eks-trainium"], **NODES))
    return next(dict(body) for body in bodies if body and body["metadata"]["name"] == KINDS[role])


INDEXED = 24  # the minor version since which there are Indexed Jobs
SUSPENDING = 21  # the minor version since which there are suspended Jobs


def minor_version(stage: AddonStage) -> int:
    return int("".join(filter(str.isdigit, stage.api.call("GET", "/version")["minor"])))


@contextmanager
def defined(stage: AddonStage, bodies: Sequence[dict[str, Any]]) -> Iterator[None]:
    """They are served, and gone afterwards with all that is of their kinds."""
    names = [str(body["metadata"]["name"]) for body in bodies]
    try:
        for body in bodies:
            made = stage.api.call("POST", PATH, body)
            assert made["kind"] == "CustomResourceDefinition", made
        for name in names:
            stage.awaited(lambda name=name: _served(stage, name))
        yield
    finally:
        for name in names:
            stage.api.call("DELETE", f"{PATH}/{name}")
        for name in names:
            stage.awaited(lambda name=name: stage.api.get(f"{PATH}/{name}") is None)


def _served(stage: AddonStage, name: str) -> bool:
    """Established, and answered for: the one comes a moment before the other."""
    definition = stage.api.get(f"{PATH}/{name}") or {}
    told = {
        one["type"]: one["status"]
        for one in (definition.get("status") or {}).get("conditions") or ()
    }
    if told.get("Established") != "True":
        return False
    version = next(one["name"] for one in definition["spec"]["versions"] if one["served"])
    return (
        stage.api.get(
            f"/apis/{definition['spec']['group']}/{version}/{definition['spec']['names']['plural']}"
        )
        is not None
    )
