"""The Secrets of one run: its environment's, and the SSH keys between its pods; both go when it is
over."""

from __future__ import annotations

from playrunner.kube.client.client import Kube
from playrunner.kube.client.resource import Resource
from playrunner.kube.objects.compare import SET
from playrunner.training.kube.job_spec import ssh_keys

_SECRETS = Resource("v1", "Secret", "secrets", True)


def delete_secrets(kube: Kube, namespace: str, run_id: str) -> None:
    """Those of a run that is over, its job still there to be looked at."""
    kube.refresh()
    for name in (run_id, ssh_keys.secret_name(run_id)):
        found = kube.get(_SECRETS, namespace, name)
        if found and SET in (found["metadata"].get("labels") or {}):
            kube.delete(_SECRETS, namespace, name, str(found["metadata"].get("uid") or ""))
