"""efs in a cluster: the driver, a class for the real file system and claims; and all of it out
again before the file system."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.controllers.control import control_request
from tests.support.aws.sandbox import PretendAws
from tests.support.kube.account import account, storage  # noqa: F401
from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import container_of


def test_efs_comes_once_and_goes_without_a_trace(storage: AddonStage, account: PretendAws) -> None:
    foreseen = storage.create("efs", check=True)
    assert foreseen.code == 0 and "failed" not in foreseen.statuses.values(), foreseen.messages
    assert storage.object("storage.k8s.io/v1", "csidrivers", "efs.csi.aws.com") is None
    made = storage.create("efs")
    assert made.code == 0, made.messages
    (system,) = account.client("efs").describe_file_systems()["FileSystems"]
    chosen = storage.object("storage.k8s.io/v1", "storageclasses", "efs-sc")
    assert chosen["provisioner"] == "efs.csi.aws.com" and chosen["parameters"] == {
        "provisioningMode": "efs-ap",
        "fileSystemId": system["FileSystemId"],
        "directoryPerms": "700",
        "gidRangeStart": "1000",
        "gidRangeEnd": "2000",
        "basePath": "/dynamic_provisioning",
    }
    claim = storage.object("v1", "persistentvolumeclaims", "efs-claim", "default")
    assert (claim["status"]["phase"], claim["spec"]["accessModes"]) == ("Bound", ["ReadWriteMany"])
    _driver_is_as_the_facts_have_it(storage)
    again = storage.create("efs")
    assert again.code == 0 and again.changed == [], again.statuses
    volume = claim["spec"]["volumeName"]
    gone = storage.delete("efs")
    assert gone.code == 0, gone.data
    assert storage.object("v1", "persistentvolumes", volume) is None
    assert storage.object("storage.k8s.io/v1", "csidrivers", "efs.csi.aws.com") is None
    assert storage.object("v1", "serviceaccounts", "efs-csi-controller-sa", "kube-system") is None
    assert account.client("efs").describe_file_systems()["FileSystems"] == []


def test_without_a_cluster_only_the_file_system_is_made(
    storage: AddonStage, account: PretendAws
) -> None:
    made = storage.create("efs", kubeconfig="")
    assert made.code == 0, made.messages
    assert storage.object("storage.k8s.io/v1", "csidrivers", "efs.csi.aws.com") is None
    assert len(account.client("efs").describe_file_systems()["FileSystems"]) == 1
    assert storage.delete("efs", kubeconfig="").code == 0


def test_every_namespace_gets_a_claim_and_one_that_is_not_asked_for_any_more_goes(
    storage: AddonStage,
) -> None:
    other = f"{storage.own}-jobs"
    storage.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": other}})
    try:
        made = storage.create("efs", efs_claim_namespaces=["default", other])
        assert made.code == 0, made.messages
        assert _phase(storage, "default") == _phase(storage, other) == "Bound"
        fewer = storage.create("efs", efs_claim_namespaces=[other])
        assert fewer.code == 0 and _phase(storage, "default") == "", fewer.messages
        assert _phase(storage, other) == "Bound"
        assert storage.delete("efs", efs_claim_namespaces=[other]).code == 0
    finally:
        storage.api.call("DELETE", f"/api/v1/namespaces/{other}")


def test_what_somebody_else_keeps_on_it_is_named_and_stays(
    storage: AddonStage, account: PretendAws
) -> None:
    """Their claim's volume would be left without a driver to delete it."""
    made = storage.create("efs")
    assert made.code == 0, made.messages
    home = "/api/v1/namespaces/default/persistentvolumeclaims"
    storage.api.call(
        "POST",
        home,
        {
            "metadata": {"name": "theirs"},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "efs-sc",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
    )
    storage.awaited(
        lambda: (storage.api.get(f"{home}/theirs").get("status") or {}).get("phase") == "Bound"
    )
    try:
        stays = storage.delete("efs")
        said = str(stays.data["failed"])
        assert (
            stays.code == 2
            and "default/theirs" in said
            and "kubectl delete pvc theirs -n default" in said
        ), stays.data
        assert (
            storage.object("storage.k8s.io/v1", "csidrivers", "efs.csi.aws.com")
            and _phase(storage, "default") == ""
        )
        assert account.client("efs").describe_file_systems()["FileSystems"]
    finally:
        storage.api.call("DELETE", f"{home}/theirs")
    assert storage.delete("efs").code == 0


def test_a_claim_whose_volume_is_not_made_says_why_and_is_taken_up_again_or_goes(
    storage: AddonStage,
) -> None:
    said = (
        "rpc error: code = Unauthenticated desc = Access Denied. Please ensure you have the right"
        " AWS permissions"
    )
    storage.inject_fault(kind="volume", match="efs-sc", message=said)
    assert storage.create("efs", efs_claim_timeout=1).code == 2
    storage.awaited(
        lambda: [
            one
            for one in storage.objects("v1", "events", namespace="default")
            if said in one["message"]
        ]
    )
    failed = storage.create("efs", efs_claim_timeout=1)
    assert (
        failed.code == 2 and "efs-claim" in failed.messages and "Access Denied" in failed.messages
    ), failed.messages
    gone = storage.delete("efs")
    assert gone.code == 0, gone.data
    assert storage.object("v1", "persistentvolumeclaims", "efs-claim", "default") is None
    assert storage.object("storage.k8s.io/v1", "storageclasses", "efs-sc") is None
    assert storage.create("efs", efs_claim_timeout=1).code == 2
    control_request(storage.sandbox, "DELETE", "faults")
    mended = storage.create("efs")
    assert mended.code == 0 and _phase(storage, "default") == "Bound", mended.messages


def test_the_driver_has_a_role_of_its_own_where_the_cluster_is_on_eks(
    storage: AddonStage, account: PretendAws
) -> None:
    _, subnets = account.network(("us-west-2a", "us-west-2b"))
    account.cluster(subnets, storage.own)
    made = storage.create("efs")
    assert made.code == 0, made.messages
    role = account.client("iam").get_role(RoleName=f"{storage.own}-efs-csi")["Role"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert (
        "system:serviceaccount:kube-system:efs-csi-controller-sa"
        in trust["Condition"]["StringEquals"].values()
    )
    carried = storage.object("v1", "serviceaccounts", "efs-csi-controller-sa", "kube-system")[
        "metadata"
    ]["annotations"]
    assert carried["eks.amazonaws.com/role-arn"] == role["Arn"]
    assert storage.create("efs").changed == []
    assert storage.delete("efs").code == 0
    assert f"{storage.own}-efs-csi" not in {
        one["RoleName"] for one in account.client("iam").list_roles()["Roles"]
    }


def _phase(stage: AddonStage, namespace: str) -> str:
    claim = stage.object("v1", "persistentvolumeclaims", "efs-claim", namespace)
    return str(((claim or {}).get("status") or {}).get("phase", ""))


def _driver_is_as_the_facts_have_it(stage: AddonStage) -> None:
    controller = stage.object("apps/v1", "deployments", "efs-csi-controller", "kube-system")
    pod: dict[str, Any] = controller["spec"]["template"]["spec"]
    assert controller["spec"]["replicas"] == 2 and pod["hostNetwork"] is True
    assert (pod["serviceAccountName"], pod["priorityClassName"]) == (
        "efs-csi-controller-sa",
        "system-cluster-critical",
    )
    plugin = container_of(controller)
    assert (
        plugin["image"].startswith("public.ecr.aws/efs-csi-driver/amazon/aws-efs-csi-driver:v")
        and plugin["securityContext"]["privileged"] is True
    )
    assert (
        "--delete-access-point-root-dir=false" in plugin["args"]
        and plugin["ports"][0]["containerPort"] == 9909
    )
    node = stage.object("apps/v1", "daemonsets", "efs-csi-node", "kube-system")
    pod = node["spec"]["template"]["spec"]
    assert (
        pod["tolerations"] == [{"operator": "Exists"}]
        and pod["serviceAccountName"] == "efs-csi-node-sa"
    )
    paths = {volume["hostPath"]["path"] for volume in pod["volumes"]}
    assert {"/var/lib/kubelet", "/var/run/efs", "/var/amazon/efs", "/etc/amazon/efs"} <= paths
    assert container_of(node)["volumeMounts"][0]["mountPropagation"] == "Bidirectional"
    assert container_of(node)["ports"][0]["containerPort"] == 9809
