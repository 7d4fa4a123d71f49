"""A service account of a cluster with certain roles, and the kubeconfig that is it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.support.kube.module_stage import Api

PATHS = {
    "Role": "namespaces/default/roles",
    "RoleBinding": "namespaces/default/rolebindings",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
}
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RIGHTS = "/apis/rbac.authorization.k8s.io/v1"


def as_account(api: Api, folder: Path, name: str, objects: list[dict[str, Any]]) -> Path:
    """A kubeconfig of a service account with these roles."""
    api.call("POST", ACCOUNTS, {"metadata": {"name": name}})
    for one in objects:
        said = api.call("POST", f"{RIGHTS}/{PATHS[one['kind']]}", one)
        assert said["kind"] != "Status", said
    token = api.call("POST", f"{ACCOUNTS}/{name}/token", {"spec": {"expirationSeconds": 3600}})[
        "status"
    ]["token"]
    config = yaml.safe_load(Path(api.kubeconfig).read_text())
    config["users"][0]["user"] = {"token": token}
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


def no_rights(name: str) -> list[dict[str, Any]]:
    """A role without rules, bound to an account: the sandbox holds it to that."""
    group = "rbac.authorization.k8s.io"
    role = {
        "apiVersion": f"{group}/v1",
        "kind": "Role",
        "metadata": {"name": "nothing", "namespace": "default"},
        "rules": [],
    }
    binding = {
        **role,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "nothing"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": name}],
    }
    return [role, binding]


def forget_account(api: Api, name: str, objects: list[dict[str, Any]]) -> None:
    for one in objects:
        api.call("DELETE", f"{RIGHTS}/{PATHS[one['kind']]}/{one['metadata']['name']}")
    api.call("DELETE", f"{ACCOUNTS}/{name}")
