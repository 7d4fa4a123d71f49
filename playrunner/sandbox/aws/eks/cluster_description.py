"""What a new EKS cluster is described as, and the checks of its network and logging."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call
from playrunner.sandbox.aws.ec2 import network

BAD = "InvalidParameterException"

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")


def checked_network(call: Call, params: dict[str, Any]) -> str:
    subnets = network.find_subnets(call, params.get("subnetIds") or [], BAD)
    network.find_groups(call, params.get("securityGroupIds") or [], BAD)
    if len({subnet.availability_zone for subnet in subnets}) < 2:
        raise AwsError(BAD, "Subnets specified must be in at least two different AZs")
    if len({subnet.vpc_id for subnet in subnets}) > 1:
        raise AwsError(BAD, "Provided subnets belong to different VPCs")
    if any(subnet.availability_zone_id == "use1-az3" for subnet in subnets):
        raise AwsError(
            "UnsupportedAvailabilityZoneException",
            "Cannot create cluster because use1-az3 does not have sufficient capacity",
            validZones=[],
        )
    return str(subnets[0].vpc_id)


def new_cluster(call: Call, name: str, version: str, vpc_id: str) -> dict[str, Any]:
    params, net, access = (
        call.params,
        call.params["resourcesVpcConfig"],
        call.params.get("accessConfig") or {},
    )
    return {
        "name": name,
        "arn": f"arn:aws:eks:{call.region_name}:{ACCOUNT}:cluster/{name}",
        "createdAt": datetime.now(UTC),
        "version": version,
        "roleArn": params["roleArn"],
        "status": "CREATING",
        "platformVersion": "eks.1",
        "resourcesVpcConfig": {
            "subnetIds": net["subnetIds"],
            "securityGroupIds": net.get("securityGroupIds") or [],
            "vpcId": vpc_id,
            "endpointPublicAccess": net.get("endpointPublicAccess", True),
            "endpointPrivateAccess": net.get("endpointPrivateAccess", False),
            "publicAccessCidrs": net.get("publicAccessCidrs") or ["0.0.0.0/0"],
        },
        "kubernetesNetworkConfig": {
            "serviceIpv4Cidr": "10.100.0.0/16",
            "ipFamily": "ipv4",
            **(params.get("kubernetesNetworkConfig") or {}),
        },
        "logging": log_settings(params.get("logging")),
        "encryptionConfig": params.get("encryptionConfig") or [],
        "accessConfig": {
            "authenticationMode": access.get("authenticationMode") or "CONFIG_MAP",
            "bootstrapClusterCreatorAdminPermissions": access.get(
                "bootstrapClusterCreatorAdminPermissions", True
            ),
        },
        "upgradePolicy": params.get("upgradePolicy") or {"supportType": "EXTENDED"},
        "deletionProtection": params.get("deletionProtection", False),
        "health": {"issues": []},
        "tags": params.get("tags") or {},
    }


def log_settings(params: dict[str, Any] | None) -> dict[str, Any]:
    entries = (params or {}).get("clusterLogging") or []
    on = {kind for entry in entries if entry.get("enabled") for kind in entry.get("types", [])}
    unknown = {kind for entry in entries for kind in entry.get("types", [])} - set(LOG_TYPES)
    if unknown:
        raise AwsError(BAD, f"unknown log types: {sorted(unknown)}")
    sorts = (
        (True, [kind for kind in LOG_TYPES if kind in on]),
        (False, [kind for kind in LOG_TYPES if kind not in on]),
    )
    return {
        "clusterLogging": [
            {"types": types, "enabled": enabled} for enabled, types in sorts if types
        ]
    }
