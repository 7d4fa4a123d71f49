"""fsx in a cluster: the driver, a class, and for each namespace a volume that stands for the one
file system the role made."""

from __future__ import annotations

from typing import Any

from tests.support.aws.sandbox import PretendAws
from tests.support.kube.account import account, storage  # noqa: F401
from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import container_of


def test_fsx_comes_once_and_goes_without_a_trace(storage: AddonStage, account: PretendAws) -> None:
    foreseen = storage.create("fsx", check=True)
    assert foreseen.code == 0 and "failed" not in foreseen.statuses.values(), foreseen.messages
    assert storage.object("storage.k8s.io/v1", "csidrivers", "fsx.csi.aws.com") is None
    made = storage.create("fsx")
    assert made.code == 0, made.messages
    (system,) = account.client("fsx").describe_file_systems()["FileSystems"]
    _class_is_as_the_facts_have_it(storage, system)
    claim = storage.object("v1", "persistentvolumeclaims", "fsx-claim", "default")
    assert (
        claim["status"]["phase"] == "Bound"
        and claim["spec"]["resources"]["requests"]["storage"] == "1200Gi"
    )
    volume = storage.object("v1", "persistentvolumes", claim["spec"]["volumeName"])
    assert volume["spec"]["csi"] == {
        "driver": "fsx.csi.aws.com",
        "volumeHandle": system["FileSystemId"],
        "volumeAttributes": {
            "dnsname": system["DNSName"],
            "mountname": system["LustreConfiguration"]["MountName"],
        },
    }
    _driver_is_as_the_facts_have_it(storage)
    again = storage.create("fsx")
    assert again.code == 0 and again.changed == [], again.statuses
    gone = storage.delete("fsx")
    assert gone.code == 0, gone.data
    assert storage.object("v1", "persistentvolumes", claim["spec"]["volumeName"]) is None
    assert storage.object("storage.k8s.io/v1", "csidrivers", "fsx.csi.aws.com") is None
    assert account.client("fsx").describe_file_systems()["FileSystems"] == []


def test_two_namespaces_share_the_one_file_system(storage: AddonStage, account: PretendAws) -> None:
    other = f"{storage.own}-jobs"
    storage.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": other}})
    try:
        made = storage.create(
            "fsx", fsx_claim_namespaces=["default", other], fsx_deployment="SCRATCH_2"
        )
        assert made.code == 0, made.messages
        claims = [
            storage.object("v1", "persistentvolumeclaims", "fsx-claim", place)
            for place in ("default", other)
        ]
        assert [claim["status"]["phase"] for claim in claims] == ["Bound", "Bound"]
        volumes = [
            storage.object("v1", "persistentvolumes", claim["spec"]["volumeName"])
            for claim in claims
        ]
        assert len({volume["spec"]["csi"]["volumeHandle"] for volume in volumes}) == 1
        assert len(account.client("fsx").describe_file_systems()["FileSystems"]) == 1
        assert (
            storage.delete(
                "fsx", fsx_claim_namespaces=["default", other], fsx_deployment="SCRATCH_2"
            ).code
            == 0
        )
    finally:
        storage.api.call("DELETE", f"/api/v1/namespaces/{other}")


def _class_is_as_the_facts_have_it(stage: AddonStage, system: dict[str, Any]) -> None:
    chosen = stage.object("storage.k8s.io/v1", "storageclasses", "fsx-sc")
    assert (chosen["provisioner"], chosen["mountOptions"]) == ("fsx.csi.aws.com", ["flock"])
    told = chosen["parameters"]
    assert told.pop("subnetId") == system["SubnetIds"][0] and told.pop(
        "securityGroupIds"
    ).startswith("sg-")
    assert told == {
        "deploymentType": "PERSISTENT_1",
        "automaticBackupRetentionDays": "1",
        "dailyAutomaticBackupStartTime": "00:00",
        "copyTagsToBackups": "true",
        "perUnitStorageThroughput": "200",
        "dataCompressionType": "NONE",
        "weeklyMaintenanceStartTime": "7:09:00",
        "fileSystemTypeVersion": "2.12",
    }


def _driver_is_as_the_facts_have_it(stage: AddonStage) -> None:
    driver = stage.object("storage.k8s.io/v1", "csidrivers", "fsx.csi.aws.com")["spec"]
    assert (driver["attachRequired"], driver["podInfoOnMount"], driver["volumeLifecycleModes"]) == (
        False,
        False,
        ["Persistent"],
    )
    controller = stage.object("apps/v1", "deployments", "fsx-csi-controller", "kube-system")
    assert controller["spec"]["replicas"] == 2
    assert container_of(controller)["image"].startswith(
        "public.ecr.aws/fsx-csi-driver/aws-fsx-csi-driver:v"
    )
    assert container_of(controller)["ports"][0]["containerPort"] == 9910
    assert "--timeout=5m" in container_of(controller, 2)["args"], "the resizer"
    node = stage.object("apps/v1", "daemonsets", "fsx-csi-node", "kube-system")
    assert (
        container_of(node)["securityContext"]["privileged"] is True
        and container_of(node)["ports"][0]["containerPort"] == 9810
    )
    assert stage.object("v1", "serviceaccounts", "fsx-csi-node-sa", "kube-system")
