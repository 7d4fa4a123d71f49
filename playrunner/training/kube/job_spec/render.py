"""A run as the variables of the role's cluster steps: what the templates in manifests/training are
filled with."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import trainer.node.pod_entry
from playrunner.text.written import Plain
from playrunner.training.code import code_archive
from playrunner.training.kube.job_spec.command import CODE, PROFILE, START
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.names import SUMMARY, labels
from playrunner.training.kube.job_spec.ssh_keys import new_keys
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.queueing import QUEUE_LABEL
from playrunner.training.profile_text import profile_text
from trainer.errors import NotRestarted

MOST_BYTES = 1 << 20  # of a ConfigMap


def variables(job: ClusterJob) -> dict[str, Any]:
    """Everything the templates read."""
    name, archive = code_archive()
    kind = KINDS[job.launcher]
    packed = job.settings.code == "configmap"
    own = {
        "id": job.run_id,
        "namespace": job.settings.namespace,
        "launcher": job.launcher,
        "manifest": kind.manifest,
        "nodes": job.nodes,
        "labels": labels(job.name, job.run_id),
        "job_labels": {
            **labels(job.name, job.run_id),
            **({QUEUE_LABEL: job.queue} if job.queue else {}),
        },
        "queued": bool(job.queue),
        "annotations": {SUMMARY: json.dumps(job.summary())},
        "port": job.settings.port,
        "headless": kind.headless,
        "over_ssh": kind.over_ssh,
        "ssh_keys": new_keys() if kind.over_ssh else {},
        "code_hash": name if packed else job.settings.image,
        "texts": {
            PROFILE: profile_text(job.profile),
            START: Path(trainer.node.pod_entry.__file__).read_text(),
        },
        "binaries": {CODE: base64.b64encode(archive.read_bytes()).decode()} if packed else {},
        "secrets": {each.name: each.value for each in job.environment if each.secret},
        "has_secrets": any(each.secret for each in job.environment),
        "not_restarted": NotRestarted.exit_code,
        "patience_seconds": job.settings.patience_seconds,
    }
    return Plain({**own, **kind.fill(job)})
