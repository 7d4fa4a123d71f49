"""The ways to run a job on a cluster, one file each: what fills the template, where its pods meet,
what its status means."""

from __future__ import annotations

from playrunner.training.kube.launchers import deepspeedjob, elasticjob, job, pytorchjob, vcjob
from playrunner.training.kube.launchers.kind import Kind

KINDS: dict[str, Kind] = {
    each.KIND.name: each.KIND for each in (job, pytorchjob, elasticjob, vcjob, deepspeedjob)
}
