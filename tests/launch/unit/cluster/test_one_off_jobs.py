"""Pods that run once beside the runs, under a namespace's rules.

The server is the sandbox's own; PLAYRUNNER_TEST_KUBE=real takes a real kube-apiserver where its
programs are found.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import KubeSettings, access
from playrunner.kube.client.transport import Transport
from playrunner.training.kube.one_off.job_pod import OneOffJob, job_pod
from tests.support.kube.api_server import api  # noqa: F401
from tests.support.kube.module_stage import Api
from tests.support.kube.service_account import as_account, forget_account
from tests.support.launch.policies import job, namespace, require_pod_security


@pytest.fixture
def creator(api: Api, tmp_path: Path) -> Iterator[Kube]:
    """A user who may create pods anywhere, and read nothing."""
    group, name = "rbac.authorization.k8s.io", f"creator-{secrets.token_hex(4)}"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "patch"]}
    role = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [rule],
    }
    binding = {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": name}],
    }
    file = as_account(api, tmp_path, name, [role, binding])
    yield Kube(Cluster(lambda: Transport(access(KubeSettings(str(file))))))
    forget_account(api, name, [role, binding])


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_a_one_off_job_is_restricted_where_others_are_refused_for_a_user_who_reads_no_namespaces(
    api: Api, creator: Kube, level: str
) -> None:
    require_pod_security(api)
    settings = job(namespace(api, level)).settings
    work = OneOffJob("stage-1", "staging", ("-m", "trainer.staging"), opened=("runs",))
    pod = job_pod(work, creator, settings)
    assert ("securityContext" in pod) == (level == "restricted")
    assert ("initContainers" in pod) == (level != "restricted"), "an opener is root"
