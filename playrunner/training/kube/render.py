"""A run as the variables of the role's cluster steps: what the templates in manifests/training are
filled with."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import yaml

import trainer.node.pod_entry
from playrunner.text.written import Plain
from playrunner.training.code import code_archive
from playrunner.training.kube.command import CODE, PROFILE, START
from playrunner.training.kube.job import ClusterJob
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.names import SUMMARY, labels
from playrunner.training.kube.ssh_keys import OVER_SSH, new_keys
from playrunner.training.ssh.steps import as_lists

MOST_BYTES = 1 << 20  # of a ConfigMap


def variables(job: ClusterJob) -> dict[str, Any]:
    """Everything the templates read."""
    name, archive = code_archive()
    packed = job.ground.code == "configmap"
    own = {
        "id": job.run_id,
        "namespace": job.ground.namespace,
        "launcher": job.launcher,
        "nodes": job.nodes,
        "labels": labels(job.name, job.run_id),
        "annotations": {SUMMARY: json.dumps(job.summary())},
        "port": job.ground.port,
        "headless": job.launcher in ("job", *OVER_SSH),
        "over_ssh": job.launcher in OVER_SSH,
        "ssh_keys": new_keys() if job.launcher in OVER_SSH else {},
        "code_hash": name if packed else job.ground.image,
        "texts": {
            PROFILE: profile_text(job),
            START: Path(trainer.node.pod_entry.__file__).read_text(),
        },
        "binaries": {CODE: base64.b64encode(archive.read_bytes()).decode()} if packed else {},
        "secrets": {each.name: each.value for each in job.environment if each.secret},
        "has_secrets": any(each.secret for each in job.environment),
        "patience_seconds": job.ground.patience_seconds,
    }
    return Plain({**own, **KINDS[job.launcher].fill(job)})


def profile_text(job: ClusterJob) -> str:
    from dataclasses import asdict

    return yaml.safe_dump(as_lists(asdict(job.profile)), sort_keys=False)
