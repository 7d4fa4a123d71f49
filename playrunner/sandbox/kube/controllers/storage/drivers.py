"""Storage drivers: when one is there, what it refuses, and the volumes that it makes."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.pods import condition
from playrunner.sandbox.kube.controllers.framework.resources import (
    CSI_DRIVERS,
    DEPLOYMENTS,
    Object,
    uid_of,
)
from playrunner.sandbox.kube.controllers.kubelet.folders import remove
from playrunner.sandbox.kube.controllers.kubelet.volumes import volume_folder

LOCAL = "local.sandbox.playrunner"  # a driver for rehearsals that need no cloud
NONE = "kubernetes.io/no-provisioner"
MADE_BY = "pv.kubernetes.io/provisioned-by"
# The Deployment that makes volumes for a driver; a driver without one belongs to the cluster
# itself.
CONTROLLERS = {
    "efs.csi.aws.com": "efs-csi-controller",
    "fsx.csi.aws.com": "fsx-csi-controller",
    "ebs.csi.aws.com": "ebs-csi-controller",
}
BUILT_IN = ("pd.csi.storage.gke.io", "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs", LOCAL)


def is_there(context: ControllerContext, driver: str) -> bool:
    """Registered, and its controller available."""
    if driver in BUILT_IN:
        return True
    if context.see(CSI_DRIVERS).get("", driver) is None:
        return False
    needed = CONTROLLERS.get(driver)
    found = [one for one in context.see(DEPLOYMENTS).all() if one["metadata"]["name"] == needed]
    return needed is None or any(condition(one, "Available") == "True" for one in found)


def refusal(storage_class: Object) -> str:
    """What the driver says about a class that lacks something."""
    driver, given = storage_class["provisioner"], storage_class.get("parameters") or {}
    if driver == "efs.csi.aws.com" and not given.get("fileSystemId"):
        return "rpc error: code = InvalidArgument desc = Missing fileSystemId parameter"
    if driver == "efs.csi.aws.com" and given.get("provisioningMode") != "efs-ap":
        return (
            "rpc error: code = InvalidArgument desc = Provisioning mode"
            f" {given.get('provisioningMode', '')} is not supported."
        )
    if driver == "fsx.csi.aws.com" and not given.get("subnetId"):
        return "rpc error: code = InvalidArgument desc = Subnet ID must be provided"
    return ""


def component(driver: str) -> str:
    """Who speaks for it in events."""
    return f"{driver}_{CONTROLLERS.get(driver, 'controller')}"


def volume(claim: Object, storage_class: Object) -> Object:
    """A new volume for the claim."""
    driver = storage_class["provisioner"]
    name = f"pvc-{uid_of(claim)}"
    number = sha256(name.encode()).hexdigest()[:17]
    file_system = (storage_class.get("parameters") or {}).get("fileSystemId")
    handles = {
        "efs.csi.aws.com": f"{file_system}::fsap-{number}",
        "fsx.csi.aws.com": f"fs-{number}",
    }
    holder = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": claim["metadata"]["namespace"],
        "name": claim["metadata"]["name"],
        "uid": uid_of(claim),
    }
    spec = {
        "accessModes": claim["spec"].get("accessModes"),
        "claimRef": holder,
        "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
        "csi": {
            "driver": driver.replace("kubernetes.io/", ""),
            "volumeHandle": handles.get(driver, f"vol-{number}"),
        },
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        "storageClassName": storage_class["metadata"]["name"],
        "volumeMode": claim["spec"].get("volumeMode") or "Filesystem",
        **(
            {"mountOptions": storage_class["mountOptions"]}
            if storage_class.get("mountOptions")
            else {}
        ),
    }
    return {"metadata": {"name": name, "annotations": {MADE_BY: driver}}, "spec": spec}


def remove_files(folder: Path, one: Object) -> None:
    """What a deleted volume kept."""
    remove(volume_folder(folder, one))
