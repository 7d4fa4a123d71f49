"""Who a pod is to the pretend AWS of its sandbox: as on EKS, a service account with a role gives it
a token and says where it is.

On EKS a webhook does so when the pod is made; here it is done when its container starts. Every pod
gets the address of that AWS.
"""

from __future__ import annotations

import json
from pathlib import Path

from playrunner.sandbox.kube.controllers.framework.client import ApiError
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import Object, annotations_of
from playrunner.sandbox.kube.controllers.kubelet.mount_namespace import Bind

ROLE = "eks.amazonaws.com/role-arn"
MOUNT = "/run/secrets/eks.amazonaws.com/serviceaccount"  # EKS says /var/run, which leads there
AUDIENCE = "sts.amazonaws.com"
TOKEN_SECONDS = 86400


def cloud_environment(context: ControllerContext) -> dict[str, str]:
    """The way to the pretend AWS, where the sandbox has one; a pod must never reach the real one
    instead."""
    try:
        record = json.loads((context.folder.parent / "aws.json").read_text())
    except (OSError, ValueError):
        return {}
    region = str(record["region"])
    return {
        "AWS_ENDPOINT_URL": str(record["endpoint_url"]),
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def role_of(context: ControllerContext, pod: Object) -> str:
    """The role of a pod's service account; empty where it has none."""
    place, name = pod["metadata"]["namespace"], pod["spec"].get("serviceAccountName") or "default"
    try:
        account = context.api.call("GET", f"/api/v1/namespaces/{place}/serviceaccounts/{name}")
    except ApiError:
        return ""
    return annotations_of(account).get(ROLE, "")


def identify(
    context: ControllerContext, pod: Object, folder: Path, role: str
) -> tuple[Bind, dict[str, str]]:
    """A fresh token in a folder that is mounted where EKS mounts it, and the variables that name
    it."""
    place, name = pod["metadata"]["namespace"], pod["spec"].get("serviceAccountName") or "default"
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [AUDIENCE], "expirationSeconds": TOKEN_SECONDS},
    }
    answer = context.api.call(
        "POST", f"/api/v1/namespaces/{place}/serviceaccounts/{name}/token", request
    )
    folder.mkdir(mode=0o700, exist_ok=True)
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(answer["status"]["token"])
    return Bind(folder, MOUNT, True), {
        "AWS_ROLE_ARN": role,
        "AWS_WEB_IDENTITY_TOKEN_FILE": f"{MOUNT}/token",
    }
