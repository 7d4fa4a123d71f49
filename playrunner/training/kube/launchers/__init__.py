"""The ways to run a job on a cluster, one file each: what fills the template, where its pods meet,
what its status means."""

from __future__ import annotations

from playrunner.training.kube.launchers.kind import Kind
from playrunner.training.launchers import CLUSTER_LAUNCHERS, Registry

KINDS: Registry[Kind] = Registry(CLUSTER_LAUNCHERS)
