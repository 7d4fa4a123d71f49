"""Claims get their volumes: those that are there, those that a driver makes, or the reason why
not."""

from __future__ import annotations

from typing import Any

from tests.support.kube.moving import Cluster, Object
from tests.support.until import until

DRIVER = "efs.csi.aws.com"


def _claim(cluster: Cluster, name: str, storage_class: str, **more: Any) -> Object:
    spec = {"storageClassName": storage_class, "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}}, **more}  # fmt: skip
    return cluster.create("persistentvolumeclaims", name, spec=spec)


def _bound(cluster: Cluster, name: str) -> Object:
    """Its volume, once it has one."""
    claim = until(lambda: cluster.get("persistentvolumeclaims", name) or {},
                  lambda one: one.get("status", {}).get("phase") == "Bound")  # fmt: skip
    volume = cluster.get("persistentvolumes", claim["spec"]["volumeName"])
    assert volume is not None and volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
    return volume


def _told(cluster: Cluster, name: str, reason: str) -> str:
    return until(lambda: cluster.reasons(name), lambda told: reason in told)[reason]


def test_a_claim_takes_a_volume_that_is_there_and_leaves_it_released(either: Cluster) -> None:
    own = f"by-hand-{either.namespace}"
    spec = {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteMany"],
        "storageClassName": own,
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": DRIVER, "volumeHandle": f"fs-{own}"},
    }
    either.create("persistentvolumes", own, spec=spec)
    _claim(either, "data", own)
    assert _bound(either, "data")["metadata"]["name"] == own
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/checkpoints"}]}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    either.said(
        "writes", "sh", "-c", "echo kept > /checkpoints/file", container=mount, volumes=volumes
    )
    assert (
        either.said("reads", "cat", "/checkpoints/file", container=mount, volumes=volumes)
        == "kept\n"
    )
    either.delete("persistentvolumeclaims", "data")
    until(
        lambda: (either.get("persistentvolumes", own) or {})["status"]["phase"],
        lambda phase: phase == "Released",
    )
    either.delete("persistentvolumes", own)
    until(lambda: either.get("persistentvolumes", own), lambda volume: volume is None)


def test_a_claim_that_waits_for_its_first_pod_is_bound_when_there_is_one(cluster: Cluster) -> None:
    own = f"waits-{cluster.namespace}"
    cluster.create(
        "storageclasses",
        own,
        provisioner="local.sandbox.playrunner",
        volumeBindingMode="WaitForFirstConsumer",
    )
    _claim(cluster, "data", own)
    _told(cluster, "data", "WaitForFirstConsumer")
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    cluster.said("first", "true", volumes=volumes)
    volume = _bound(cluster, "data")
    cluster.delete("pods", "first")
    cluster.delete("persistentvolumeclaims", "data")
    until(
        lambda: cluster.get("persistentvolumes", volume["metadata"]["name"]),
        lambda found: found is None,
    )
    cluster.delete("storageclasses", own)


def test_a_claim_waits_for_its_driver_and_hears_why_it_fails(cluster: Cluster) -> None:
    own = f"efs-{cluster.namespace}"
    cluster.create("storageclasses", own, provisioner=DRIVER,
                   parameters={"provisioningMode": "efs-ap", "fileSystemId": "fs-1"})  # fmt: skip
    fault = {
        "kind": "volume",
        "match": f"{cluster.namespace}/data",
        "message": "AccessDenied: no such role",
    }
    cluster.control("POST", "faults", fault)
    _claim(cluster, "data", own)
    assert DRIVER in _told(cluster, "data", "ExternalProvisioning")
    cluster.create("csidrivers", DRIVER, spec={"attachRequired": False})
    try:
        image = {"image": "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efs-csi-driver:v2"}
        cluster.create(
            "deployments",
            "efs-csi-controller",
            spec={"replicas": 1, **cluster.workload([], container=image)},
        )
        said = _told(cluster, "data", "ProvisioningFailed")
        assert (
            said
            == f'failed to provision volume with StorageClass "{own}": AccessDenied: no such role'
        )
        cluster.control("DELETE", "faults")
        volume = _bound(cluster, "data")
        assert volume["spec"]["csi"]["driver"] == DRIVER and volume["spec"]["csi"][
            "volumeHandle"
        ].startswith("fs-1::fsap-")
    finally:
        cluster.delete("csidrivers", DRIVER)
        cluster.delete("storageclasses", own)


def test_a_class_that_is_not_there_is_named(cluster: Cluster) -> None:
    _claim(cluster, "data", "nobody")
    assert (
        _told(cluster, "data", "ProvisioningFailed")
        == 'storageclass.storage.k8s.io "nobody" not found'
    )
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    cluster.pod("waits", "true", volumes=volumes)
    assert "pod has unbound immediate PersistentVolumeClaims" in _told(
        cluster, "waits", "FailedScheduling"
    )
