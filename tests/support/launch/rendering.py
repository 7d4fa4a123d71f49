"""Jobs made from profiles, and rendered by the real templates as a launch would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from playrunner.inventory.inventory import read_inventory
from playrunner.training.kube.job_spec.job import ClusterJob, Share, elastic_bounds
from playrunner.training.kube.job_spec.node_capacity import NodeCapacity
from playrunner.training.kube.job_spec.render import variables
from playrunner.training.kube.job_spec.sizing import RequestedNodes, share_of
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.plan import environment_of
from playrunner.training.kube.session import ClusterSettings
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import default_templar
from trainer.profile import read_profile

TEMPLATES = Path(__file__).parents[3] / "manifests" / "training"
GIB = 2.0**30


def node(
    name: str, kind: str = "", held: dict[str, float] | None = None, **has: float
) -> NodeCapacity:
    """A node that has so much of everything; devices are named with _ for . and __ for /."""
    offered = {
        "cpu": 4.0,
        "memory": 16 * GIB,
        **{key.replace("__", "/").replace("_", "."): value for key, value in has.items()},
    }
    free = {key: value - (held or {}).get(key, 0.0) for key, value in offered.items()}
    return NodeCapacity(
        name, kind, offered, free, holders=tuple(["another-run-worker-0"] if held else [])
    )


def planned(
    launcher: str,
    profile: str,
    offered: list[NodeCapacity],
    nodes: int,
    settings: ClusterSettings | None = None,
    overrides: tuple[str, ...] = (),
) -> ClusterJob:
    """A job as a launch plans it on these nodes, under a known id."""
    settings = settings or ClusterSettings(image="registry.test/trainer:1", claim="fsx-claim")
    read = read_profile(profile, overrides)
    bounds = elastic_bounds(read, launcher, nodes)
    share: Share = share_of(
        read, offered, settings, RequestedNodes(nodes, bounds[1] if bounds else nodes)
    )
    job = ClusterJob("bert", "bert-hpzwjhg4", profile, read, launcher, nodes, settings, share)
    return ClusterJob(
        "bert",
        "bert-hpzwjhg4",
        profile,
        read,
        launcher,
        nodes,
        settings,
        share,
        tuple(environment_of(job, {})),
        created=1.0,
    )


def rendered(job: ClusterJob) -> dict[str, dict[str, Any]]:
    """Its objects by kind."""
    scope = Scope(
        RunVariables(read_inventory(["localhost,"]), default_templar, {"run": variables(job)}, {}),
        "localhost",
    )
    files = [TEMPLATES / "files.yaml.j2", TEMPLATES.parent / KINDS[job.launcher].manifest]
    texts = [default_templar.render_file(file.read_text(), scope, name=str(file)) for file in files]
    return {thing["kind"]: thing for text in texts for thing in yaml.safe_load_all(text) if thing}


def container(pod: dict[str, Any]) -> dict[str, Any]:
    (found,) = pod["spec"]["containers"]
    return dict(found)


def environment(pod: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one.get("value", "") for one in container(pod)["env"]}
