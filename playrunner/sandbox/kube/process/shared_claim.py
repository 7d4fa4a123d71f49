"""A claim on the sandbox's cluster that all pods see and may write to: runs can be launched without
a file system of a cloud."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playrunner.sandbox.kube.controllers.framework.client import Api, ApiError

NAME = "rehearsal"  # of the claim and its volume; inventories/local.yaml names it
NAMESPACE = "default"


def offer(kubeconfig: Path, folder: Path) -> None:
    """Make volume and claim where they are not there."""
    api = Api(kubeconfig)
    spec: dict[str, Any] = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = {
        "metadata": {"name": NAME},
        "spec": {
            **spec,
            "capacity": {"storage": "1Ti"},
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": NAMESPACE, "name": NAME},
            "hostPath": {"path": str(folder / NAME)},
        },
    }
    claim = {
        "metadata": {"name": NAME},
        "spec": {**spec, "volumeName": NAME, "resources": {"requests": {"storage": "1Ti"}}},
    }
    for path, thing in (
        ("/api/v1/persistentvolumes", volume),
        (f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims", claim),
    ):
        try:
            api.call("POST", path, thing)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
