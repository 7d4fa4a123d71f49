"""What a new EKS node group is described as, and the checks of its types, sizes and launch
template."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call
from playrunner.sandbox.aws.eks import nodes
from playrunner.sandbox.aws.eks.cluster_description import BAD

LAST_AL2 = 32  # EKS made no Amazon Linux 2 images after 1.32
AMI_TYPES = (
    "AL2_x86_64",
    "AL2_x86_64_GPU",
    "AL2_ARM_64",
    "AL2023_x86_64_STANDARD",
    "AL2023_ARM_64_STANDARD",
    "AL2023_x86_64_NEURON",
    "AL2023_x86_64_NVIDIA",
    "AL2023_ARM_64_NVIDIA",
    "BOTTLEROCKET_x86_64",
    "BOTTLEROCKET_ARM_64",
    "BOTTLEROCKET_x86_64_NVIDIA",
    "CUSTOM",
)


def check_types(types: list[str]) -> None:
    missing = [kind for kind in types if kind not in INSTANCE_TYPES]
    if missing:
        raise AwsError(BAD, f"The following supplied instance types do not exist: {missing}")


def checked_sizes(sizes: dict[str, Any]) -> dict[str, Any]:
    """The sizes, when they make sense together."""
    least, wanted, most = sizes["minSize"], sizes["desiredSize"], sizes["maxSize"]
    if least < 0 or most < 1:
        raise AwsError(BAD, "minSize must be at least 0 and maxSize at least 1")
    if least > wanted:
        raise AwsError(BAD, f"Minimum capacity {least} can't be greater than desired size {wanted}")
    if wanted > most:
        raise AwsError(BAD, f"desired capacity {wanted} can't be greater than max size {most}")
    return sizes


def template_of(call: Call) -> dict[str, Any]:
    """The launch template's content, checked for settings that the request gives as well."""
    params = call.params
    if not params.get("launchTemplate"):
        return {}
    data = nodes.template_data(call, params)
    if data.get("InstanceType") and params.get("instanceTypes"):
        raise AwsError(
            "InvalidRequestException",
            "You cannot specify instance types in both the launch template and the nodegroup",
        )
    if params.get("diskSize"):
        raise AwsError(
            "InvalidRequestException", "Disk size must be specified within the launch template."
        )
    if params.get("remoteAccess"):
        raise AwsError(
            "InvalidRequestException",
            "Remote access configuration cannot be specified with a launch template.",
        )
    return data


def _check_processor(ami_type: str, instance_types: list[str]) -> None:
    for name in instance_types:
        known = (INSTANCE_TYPES.get(name) or {}).get("ProcessorInfo") or {}
        arm = "arm64" in (known.get("SupportedArchitectures") or ())
        if known and ami_type != "CUSTOM" and arm != ("ARM_64" in ami_type):
            raise AwsError(
                "InvalidParameterException",
                f"[{name}] is not a valid instance type for requested amiType {ami_type}",
            )


def new_nodegroup(
    call: Call, cluster: dict[str, Any], sizes: dict[str, Any], template: dict[str, Any]
) -> dict[str, Any]:
    params, now, number = call.params, datetime.now(UTC), str(uuid.uuid4())
    ami_type = params.get("amiType") or (
        "CUSTOM" if template.get("ImageId") else "AL2023_x86_64_STANDARD"
    )
    check_ami(ami_type, cluster["version"])
    _check_processor(ami_type, params.get("instanceTypes") or [template.get("InstanceType", "")])
    if params.get("capacityType") == "CAPACITY_BLOCK" and not template.get("InstanceType"):
        raise AwsError(
            "InvalidParameterException",
            "Capacity Block nodegroups need a launch template with an instance type",
        )
    name = params["nodegroupName"]
    return {
        "nodegroupName": name,
        "nodegroupArn": (
            f"arn:aws:eks:{call.region_name}:{ACCOUNT}:nodegroup/{cluster['name']}/{name}/{number}"
        ),
        "arn": (
            f"arn:aws:eks:{call.region_name}:{ACCOUNT}:nodegroup/{cluster['name']}/{name}/{number}"
        ),
        "clusterName": cluster["name"],
        "version": params.get("version") or cluster["version"],
        "releaseVersion": f"{cluster['version']}.1-20251101",
        "createdAt": now,
        "modifiedAt": now,
        "status": "CREATING",
        "capacityType": params.get("capacityType") or "ON_DEMAND",
        "scalingConfig": sizes,
        "instanceTypes": (
            params.get("instanceTypes") or ([] if template.get("InstanceType") else ["t3.medium"])
        ),
        "subnets": params["subnets"],
        "remoteAccess": params.get("remoteAccess"),
        "amiType": ami_type,
        "nodeRole": params["nodeRole"],
        "labels": params.get("labels") or {},
        "taints": params.get("taints") or [],
        "diskSize": None if template else params.get("diskSize") or 20,
        "updateConfig": params.get("updateConfig") or {"maxUnavailable": 1},
        "launchTemplate": params.get("launchTemplate"),
        "resources": {"autoScalingGroups": [{"name": f"eks-{name}-{number}"}]},
        "health": {"issues": []},
        "tags": params.get("tags") or {},
    }


def check_ami(ami_type: str, version: str) -> None:
    if ami_type not in AMI_TYPES:
        raise AwsError(BAD, f"Invalid AMI type: {ami_type}")
    if ami_type.startswith("AL2_") and int(version.split(".")[1]) > LAST_AL2:
        raise AwsError(
            BAD,
            f"Requested Nodegroup release version for amiType {ami_type} is not available for"
            f" Kubernetes {version}",
        )
