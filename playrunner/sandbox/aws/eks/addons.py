"""EKS add-ons: installed into a cluster after a while, degraded as long as there is no node to run
on."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call, page
from playrunner.sandbox.aws.eks.find import find, find_active
from playrunner.sandbox.aws.eks.updates import begin_update

# name: versions, newest first; the first is the default
KNOWN = {
    "vpc-cni": ("v1.20.4-eksbuild.1", "v1.19.5-eksbuild.1"),
    "kube-proxy": ("v1.34.0-eksbuild.4", "v1.33.3-eksbuild.4"),
    "coredns": ("v1.12.4-eksbuild.1", "v1.12.1-eksbuild.2"),
    "eks-pod-identity-agent": ("v1.3.9-eksbuild.3", "v1.3.4-eksbuild.1"),
    "aws-ebs-csi-driver": ("v1.51.0-eksbuild.1", "v1.44.0-eksbuild.1"),
    "aws-efs-csi-driver": ("v2.1.13-eksbuild.1", "v2.1.8-eksbuild.1"),
    "aws-fsx-csi-driver": ("v1.6.0-eksbuild.1", "v1.5.0-eksbuild.1"),
    "amazon-cloudwatch-observability": ("v4.5.0-eksbuild.1",),
    "metrics-server": ("v0.8.0-eksbuild.2",),
}
NEED_NODES = (
    "coredns",
    "aws-ebs-csi-driver",
    "aws-efs-csi-driver",
    "aws-fsx-csi-driver",
    "metrics-server",
)


def create_addon(call: Call) -> dict[str, Any]:
    cluster, params = find_active(call), call.params
    key = cluster["name"], params["addonName"]
    if key in call.region.addons:
        raise AwsError(
            "ResourceInUseException",
            "Addon already exists.",
            409,
            clusterName=key[0],
            addonName=key[1],
        )
    version = _version(key[1], params.get("addonVersion"))
    now = datetime.now(UTC)
    addon = {
        "addonName": key[1],
        "clusterName": key[0],
        "status": "CREATING",
        "addonVersion": version,
        "health": {"issues": []},
        "addonArn": (
            f"arn:aws:eks:{call.region_name}:{ACCOUNT}:addon/{key[0]}/{key[1]}/{uuid.uuid4()}"
        ),
        "createdAt": now,
        "modifiedAt": now,
        "serviceAccountRoleArn": params.get("serviceAccountRoleArn"),
        "configurationValues": params.get("configurationValues"),
        "podIdentityAssociations": [],
        "tags": params.get("tags") or {},
    }
    addon["arn"] = addon["addonArn"]
    call.region.addons[key] = addon
    failure = call.state.faults.fails_later("eks", "CreateAddon", key[1])
    status = "CREATE_FAILED" if failure else "ACTIVE"
    issues = (
        [{"code": failure.code or "InternalFailure", "message": failure.message, "resourceIds": []}]
        if failure
        else []
    )
    call.state.later("eks.addon", lambda: addon.update(status=status, health={"issues": issues}))
    return {"addon": addon}


def describe_addon(call: Call) -> dict[str, Any]:
    return {"addon": _as_it_stands(call, _find(call))}


def list_addons(call: Call) -> dict[str, Any]:
    name = find(call)["name"]
    return page(
        sorted(addon for owner, addon in call.region.addons if owner == name), call.params, "addons"
    )


def delete_addon(call: Call) -> dict[str, Any]:
    addon = _find(call)
    addon["status"] = "DELETING"
    key = addon["clusterName"], addon["addonName"]
    call.state.later("eks.addon", lambda: call.region.addons.pop(key, None))
    return {"addon": addon}


def update_addon(call: Call) -> dict[str, Any]:
    addon, params = _find(call), call.params
    changes = {
        key: params[key]
        for key in ("serviceAccountRoleArn", "configurationValues")
        if params.get(key) is not None
    }
    if params.get("addonVersion"):
        changes["addonVersion"] = _version(addon["addonName"], params["addonVersion"])
    return {
        "update": begin_update(
            call, addon, "AddonUpdate", {**changes, "modifiedAt": datetime.now(UTC)}, "eks.addon"
        )
    }


def describe_addon_versions(call: Call) -> dict[str, Any]:
    wanted = call.params.get("addonName")
    addons = [_catalogue_entry(name) for name in KNOWN if wanted in (None, name)]
    if wanted and not addons:
        raise AwsError(
            "ResourceNotFoundException", f"Addon {wanted} specified is not supported", 404
        )
    return page(addons, call.params, "addons")


def _catalogue_entry(name: str) -> dict[str, Any]:
    fits = [
        {"clusterVersion": call_version, "platformVersions": ["*"], "defaultVersion": True}
        for call_version in ("1.32", "1.33", "1.34")
    ]
    versions = [
        {"addonVersion": one, "architecture": ["amd64", "arm64"], "compatibilities": fits}
        for one in KNOWN[name]
    ]
    return {
        "addonName": name,
        "type": "networking",
        "owner": "aws",
        "publisher": "eks",
        "addonVersions": versions,
    }


def _as_it_stands(call: Call, addon: dict[str, Any]) -> dict[str, Any]:
    if (
        addon["status"] == "ACTIVE"
        and addon["addonName"] in NEED_NODES
        and not _takes_pods(call, addon["clusterName"])
    ):
        issue = {
            "code": "InsufficientNumberOfReplicas",
            "message": "The add-on is unhealthy because all deployments have 0 replicas ready.",
            "resourceIds": [],
        }
        return {**addon, "status": "DEGRADED", "health": {"issues": [issue]}}
    return addon


def _takes_pods(call: Call, cluster: str) -> bool:
    """Whether a node has no taint that keeps the add-on's pods out."""
    return any(
        ids
        for key, ids in call.region.nodes.items()
        if key[0] == cluster
        and not any(
            taint["effect"] in ("NO_SCHEDULE", "NO_EXECUTE")
            for taint in call.region.nodegroups.get(key, {}).get("taints") or ()
        )
    )


def _version(name: str, wanted: str | None) -> str:
    if name not in KNOWN:
        raise AwsError(
            "InvalidParameterException", f"Addon {name} specified is not supported", addonName=name
        )
    if wanted not in (None, *KNOWN[name]):
        raise AwsError(
            "InvalidParameterException",
            f"Addon version specified is not supported: {wanted}",
            addonName=name,
        )
    return wanted or KNOWN[name][0]


def _find(call: Call) -> dict[str, Any]:
    key = find(call)["name"], call.params["addonName"]
    if key not in call.region.addons:
        raise AwsError(
            "ResourceNotFoundException",
            f"No addon: {key[1]} found in cluster: {key[0]}",
            404,
            clusterName=key[0],
            addonName=key[1],
        )
    return call.region.addons[key]


ANSWERS = {
    "CreateAddon": create_addon,
    "DescribeAddon": describe_addon,
    "ListAddons": list_addons,
    "DeleteAddon": delete_addon,
    "UpdateAddon": update_addon,
    "DescribeAddonVersions": describe_addon_versions,
}
