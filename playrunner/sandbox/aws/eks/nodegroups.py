"""EKS managed nodegroups: validated, slow, with instances behind them, or a reason why there are
none."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from playrunner.sandbox.aws.api.tokens import forget, once
from playrunner.sandbox.aws.api.wire import AwsError, Call, page
from playrunner.sandbox.aws.api.world import ACCOUNT
from playrunner.sandbox.aws.ec2 import machines, network
from playrunner.sandbox.aws.eks import nodes
from playrunner.sandbox.aws.eks.access import admit
from playrunner.sandbox.aws.eks.clusters import BAD
from playrunner.sandbox.aws.eks.find import find, find_active
from playrunner.sandbox.aws.eks.updates import begin_update
from playrunner.sandbox.faults import Fault

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
LAST_AL2 = 32  # EKS made no Amazon Linux 2 images after 1.32


def create_nodegroup(call: Call) -> dict[str, Any]:
    return once(call, call.params.get("clientRequestToken"), lambda: _create(call))


def _create(call: Call) -> dict[str, Any]:
    cluster, wish = find_active(call), call.params
    key = cluster["name"], wish["nodegroupName"]
    if key in call.region.nodegroups:
        said = f"NodeGroup already exists with name {key[1]} and cluster name {key[0]}"
        raise AwsError(
            "ResourceInUseException", said, 409, clusterName=key[0], nodegroupName=key[1]
        )
    sizes = checked_sizes(
        {"minSize": 1, "maxSize": 2, "desiredSize": 2, **(wish.get("scalingConfig") or {})}
    )
    network.find_role(wish["nodeRole"], "ec2.amazonaws.com", BAD, "nodeRole")
    subnets = network.find_subnets(call, wish["subnets"], BAD)
    if any(subnet.vpc_id != cluster["resourcesVpcConfig"]["vpcId"] for subnet in subnets):
        raise AwsError(BAD, "Subnets are not in the cluster's VPC")
    nodegroup = _description(call, cluster, sizes, _template(call))
    _check_types(nodes.types(call, nodegroup))
    if nodegroup["remoteAccess"]:
        nodes.open_remote_access(call, nodegroup, cluster["resourcesVpcConfig"]["vpcId"])
    call.region.nodegroups[key] = nodegroup
    if (
        "API" in cluster["accessConfig"]["authenticationMode"]
        and (key[0], wish["nodeRole"]) not in call.region.access_entries
    ):
        admit(
            call,
            key[0],
            wish["nodeRole"],
            "EC2_LINUX",
            username="system:node:{{EC2PrivateDNSName}}",
        )
    _schedule(call, cluster, nodegroup)
    return {"nodegroup": nodegroup}


def _check_types(types: list[str]) -> None:
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


def _template(call: Call) -> dict[str, Any]:
    """The launch template's content, checked against what must not be said twice."""
    wish = call.params
    if not wish.get("launchTemplate"):
        return {}
    data = nodes.template_data(call, wish)
    if data.get("InstanceType") and wish.get("instanceTypes"):
        raise AwsError(
            "InvalidRequestException",
            "You cannot specify instance types in both the launch template and the nodegroup",
        )
    if wish.get("diskSize"):
        raise AwsError(
            "InvalidRequestException", "Disk size must be specified within the launch template."
        )
    if wish.get("remoteAccess"):
        raise AwsError(
            "InvalidRequestException",
            "Remote access configuration cannot be specified with a launch template.",
        )
    return data


def _description(
    call: Call, cluster: dict[str, Any], sizes: dict[str, Any], template: dict[str, Any]
) -> dict[str, Any]:
    wish, now, number = call.params, datetime.now(UTC), str(uuid.uuid4())
    ami_type = wish.get("amiType") or (
        "CUSTOM" if template.get("ImageId") else "AL2023_x86_64_STANDARD"
    )
    _check_ami(ami_type, cluster["version"])
    name = wish["nodegroupName"]
    return {
        "nodegroupName": name,
        "nodegroupArn": (
            f"arn:aws:eks:{call.region_name}:{ACCOUNT}:nodegroup/{cluster['name']}/{name}/{number}"
        ),
        "arn": (
            f"arn:aws:eks:{call.region_name}:{ACCOUNT}:nodegroup/{cluster['name']}/{name}/{number}"
        ),
        "clusterName": cluster["name"],
        "version": wish.get("version") or cluster["version"],
        "releaseVersion": f"{cluster['version']}.1-20251101",
        "createdAt": now,
        "modifiedAt": now,
        "status": "CREATING",
        "capacityType": wish.get("capacityType") or "ON_DEMAND",
        "scalingConfig": sizes,
        "instanceTypes": (
            wish.get("instanceTypes") or ([] if template.get("InstanceType") else ["t3.medium"])
        ),
        "subnets": wish["subnets"],
        "remoteAccess": wish.get("remoteAccess"),
        "amiType": ami_type,
        "nodeRole": wish["nodeRole"],
        "labels": wish.get("labels") or {},
        "taints": wish.get("taints") or [],
        "diskSize": None if template else wish.get("diskSize") or 20,
        "updateConfig": wish.get("updateConfig") or {"maxUnavailable": 1},
        "launchTemplate": wish.get("launchTemplate"),
        "resources": {"autoScalingGroups": [{"name": f"eks-{name}-{number}"}]},
        "health": {"issues": []},
        "tags": wish.get("tags") or {},
    }


def _check_ami(ami_type: str, version: str) -> None:
    if ami_type not in AMI_TYPES:
        raise AwsError(BAD, f"Invalid AMI type: {ami_type}")
    if ami_type.startswith("AL2_") and int(version.split(".")[1]) > LAST_AL2:
        raise AwsError(
            BAD,
            f"Requested Nodegroup release version for amiType {ami_type} is not available for"
            f" Kubernetes {version}",
        )


def _schedule(call: Call, cluster: dict[str, Any], nodegroup: dict[str, Any]) -> None:
    """Decide now how it will end; the reason of a failure shows before the end, as EKS reports it."""
    failure = call.world.faults.fails_later("eks", "CreateNodegroup", nodegroup["nodegroupName"])
    placed = None if failure else nodes.placed(call, nodegroup)
    if placed is not None:
        call.world.later(
            "eks.nodegroup.create", lambda: _become_active(call, cluster, nodegroup, *placed)
        )
        return
    issue = _issue(call, nodegroup, failure)
    seconds = call.world.settings.delays["eks.nodegroup.create"]
    call.world.timeline.after(seconds / 2, lambda: nodegroup.update(health={"issues": [issue]}))
    call.world.timeline.after(
        seconds,
        lambda: (
            nodegroup.update(status="CREATE_FAILED") if nodegroup["status"] == "CREATING" else None
        ),
    )


def _issue(call: Call, nodegroup: dict[str, Any], failure: Fault | None) -> dict[str, Any]:
    group = nodegroup["resources"]["autoScalingGroups"][0]["name"]
    if failure is not None:
        code, said = (
            failure.code or "NodeCreationFailure",
            failure.message or "Instances failed to join the cluster",
        )
    else:
        code, kind = "AsgInstanceLaunchFailures", nodes.types(call, nodegroup)[0]
        said = (
            "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do"
            f" not have sufficient {kind} capacity in the Availability Zone you requested."
            " Launching EC2 instance failed."
        )
    return {"code": code, "message": said, "resourceIds": [group]}


def _become_active(
    call: Call, cluster: dict[str, Any], nodegroup: dict[str, Any], kind: str, subnets: list[Any]
) -> None:
    if nodegroup["status"] == "CREATING":
        nodes.grow(call, nodegroup, kind, subnets, nodegroup["scalingConfig"]["desiredSize"])
        nodegroup["status"] = "ACTIVE"


def _find(call: Call) -> dict[str, Any]:
    key = find(call)["name"], call.params["nodegroupName"]
    if key not in call.region.nodegroups:
        said = f"No node group found for name: {key[1]}."
        raise AwsError(
            "ResourceNotFoundException", said, 404, clusterName=key[0], nodegroupName=key[1]
        )
    return call.region.nodegroups[key]


def describe_nodegroup(call: Call) -> dict[str, Any]:
    return {"nodegroup": _find(call)}


def list_nodegroups(call: Call) -> dict[str, Any]:
    name = find(call)["name"]
    return page(
        sorted(group for owner, group in call.region.nodegroups if owner == name),
        call.params,
        "nodegroups",
    )


def delete_nodegroup(call: Call) -> dict[str, Any]:
    nodegroup = _find(call)
    if nodegroup["status"] in ("CREATING", "UPDATING", "DELETING"):
        raise AwsError(
            "ResourceInUseException", f"Nodegroup is in {nodegroup['status']} status", 409
        )
    nodegroup["status"] = "DELETING"
    key = nodegroup["clusterName"], nodegroup["nodegroupName"]
    machines.end(call, call.region.nodes.pop(key, []))
    call.world.later("eks.nodegroup.delete", lambda: _gone(call, key))
    return {"nodegroup": nodegroup}


def _gone(call: Call, key: tuple[str, str]) -> None:
    nodegroup = call.region.nodegroups.pop(key)
    nodes.close_remote_access(call, nodegroup)
    forget(call, nodegroup)


def update_nodegroup_config(call: Call) -> dict[str, Any]:
    nodegroup, wish = _find(call), call.params
    if nodegroup["status"] != "ACTIVE":
        raise AwsError(
            "ResourceInUseException",
            f"Nodegroup cannot be updated as it is currently in {nodegroup['status']} status",
            409,
        )
    changes: dict[str, Any] = {"modifiedAt": datetime.now(UTC)}
    if wish.get("scalingConfig"):
        changes["scalingConfig"] = checked_sizes(
            {**nodegroup["scalingConfig"], **wish["scalingConfig"]}
        )
    if wish.get("labels"):
        labels = {**nodegroup["labels"], **(wish["labels"].get("addOrUpdateLabels") or {})}
        changes["labels"] = {
            key: value
            for key, value in labels.items()
            if key not in (wish["labels"].get("removeLabels") or [])
        }
    if wish.get("taints"):
        gone = (wish["taints"].get("removeTaints") or []) + (
            wish["taints"].get("addOrUpdateTaints") or []
        )
        kept = [
            one
            for one in nodegroup["taints"]
            if (one["key"], one["effect"]) not in {(two["key"], two["effect"]) for two in gone}
        ]
        changes["taints"] = kept + (wish["taints"].get("addOrUpdateTaints") or [])
    if wish.get("updateConfig"):
        changes["updateConfig"] = wish["updateConfig"]
    return {
        "update": begin_update(
            call,
            nodegroup,
            "ConfigUpdate",
            changes,
            "eks.nodegroup.update",
            lambda: nodes.resize(call, nodegroup),
        )
    }


def update_nodegroup_version(call: Call) -> dict[str, Any]:
    nodegroup = _find(call)
    version = call.params.get("version") or find(call)["version"]
    changes = {"version": version, "releaseVersion": f"{version}.1-20251101"}
    if call.params.get("launchTemplate"):
        changes["launchTemplate"] = {
            **(nodegroup["launchTemplate"] or {}),
            **call.params["launchTemplate"],
        }
    return {
        "update": begin_update(call, nodegroup, "VersionUpdate", changes, "eks.nodegroup.update")
    }


ANSWERS = {
    "CreateNodegroup": create_nodegroup,
    "DescribeNodegroup": describe_nodegroup,
    "ListNodegroups": list_nodegroups,
    "DeleteNodegroup": delete_nodegroup,
    "UpdateNodegroupConfig": update_nodegroup_config,
    "UpdateNodegroupVersion": update_nodegroup_version,
}
