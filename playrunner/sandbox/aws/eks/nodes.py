"""The machines behind a managed nodegroup: where they can be had, how many, and with which groups
and tags."""

from __future__ import annotations

import uuid
from typing import Any

from playrunner.sandbox.aws.api.wire import AwsError, Call
from playrunner.sandbox.aws.ec2 import machines, network


def placed(call: Call, nodegroup: dict[str, Any]) -> tuple[str, list[Any]] | None:
    """A type and the subnets where it can be had; nothing when no zone has any (and some are
    wanted)."""
    subnets = network.find_subnets(call, nodegroup["subnets"], "InvalidParameterException")
    for kind in types(call, nodegroup):
        usable = [subnet for subnet in subnets if machines.has_capacity(call, subnet, kind)]
        if usable:
            return kind, usable
    return (
        None if nodegroup["scalingConfig"]["desiredSize"] else (types(call, nodegroup)[0], subnets)
    )


def grow(call: Call, nodegroup: dict[str, Any], kind: str, subnets: list[Any], count: int) -> None:
    """Start instances, spread over the subnets."""
    cluster = call.region.clusters[nodegroup["clusterName"]]
    template = template_data(call, nodegroup)
    groups = _groups(template) or [cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]]
    remote = nodegroup["resources"].get("remoteAccessSecurityGroup")
    groups += [remote] if remote else []
    name = cluster["name"]
    tags = {
        "eks:cluster-name": name,
        "eks:nodegroup-name": nodegroup["nodegroupName"],
        f"kubernetes.io/cluster/{name}": "owned",
    }
    tags.update(_template_tags(template))
    ids = call.region.nodes[name, nodegroup["nodegroupName"]]
    for index in range(count):
        ids += machines.start(
            call,
            1,
            kind,
            subnets[index % len(subnets)],
            groups,
            tags,
            spot=nodegroup["capacityType"] == "SPOT",
            image_id=template.get("ImageId"),
            disk_gib=nodegroup["diskSize"],
            volumes=template.get("BlockDeviceMappings"),
        )
    group = (template.get("Placement") or {}).get("GroupName")
    if group:
        call.region.placed.update(dict.fromkeys(ids, group))


def open_remote_access(call: Call, nodegroup: dict[str, Any], vpc_id: str) -> None:
    """The security group that EKS makes for SSH to the nodes."""
    params = nodegroup["remoteAccess"]
    ec2 = network.backend(call.region_name)
    if params.get("ec2SshKey") not in ec2.key_pairs:
        raise AwsError(
            "InvalidParameterException", f"The key pair '{params.get('ec2SshKey')}' does not exist"
        )
    sources = params.get("sourceSecurityGroups") or []
    network.find_groups(call, sources, "InvalidParameterException")
    said = "Security group for all nodes in the nodeGroup to allow SSH access"
    group = ec2.create_security_group(f"eks-remoteAccess-{uuid.uuid4()}", said, vpc_id=vpc_id)
    allowed = [{"GroupId": one} for one in sources]
    state = [] if sources else [{"CidrIp": "0.0.0.0/0"}]
    ec2.authorize_security_group_ingress(
        group.id, "tcp", "22", "22", state, source_groups=allowed, vpc_id=vpc_id
    )
    nodegroup["resources"]["remoteAccessSecurityGroup"] = group.id


def close_remote_access(call: Call, nodegroup: dict[str, Any]) -> None:
    """That group goes with the nodegroup."""
    group = nodegroup["resources"].get("remoteAccessSecurityGroup")
    for groups in network.backend(call.region_name).groups.values():
        groups.pop(group, None)


def resize(call: Call, nodegroup: dict[str, Any]) -> None:
    """As many instances as are wanted now."""
    ids = call.region.nodes[nodegroup["clusterName"], nodegroup["nodegroupName"]]
    wanted = nodegroup["scalingConfig"]["desiredSize"]
    if len(ids) > wanted:
        machines.end(call, ids[wanted:])
        del ids[wanted:]
    elif len(ids) < wanted:
        found = placed(call, nodegroup)
        if found is not None:
            grow(call, nodegroup, *found, wanted - len(ids))


def types(call: Call, nodegroup: dict[str, Any]) -> list[str]:
    """The instance types it may use, the first one first."""
    return list(nodegroup["instanceTypes"]) or [template_data(call, nodegroup)["InstanceType"]]


def template_data(call: Call, nodegroup: dict[str, Any]) -> dict[str, Any]:
    """What its launch template says; nothing without one."""
    return template_of(call.region_name, nodegroup)


def template_of(region: str, nodegroup: dict[str, Any]) -> dict[str, Any]:
    """The same, for those who answer no call."""
    reference = nodegroup["launchTemplate"]
    if not reference:
        return {}
    words = {"id": "LaunchTemplateId", "name": "LaunchTemplateName"}
    named = {words[key]: value for key, value in reference.items() if key in words}
    version = reference.get("version") or "$Default"
    return dict(network.backend(region)._get_template_from_args({**named, "Version": version}).data)


def _groups(template: dict[str, Any]) -> list[str]:
    interfaces = template.get("NetworkInterfaces") or []
    return list(
        template.get("SecurityGroupIds")
        or (interfaces[0].get("Groups") if interfaces else [])
        or []
    )


def _template_tags(template: dict[str, Any]) -> dict[str, str]:
    specs = [
        one
        for one in template.get("TagSpecifications") or []
        if one.get("ResourceType") == "instance"
    ]
    return {tag["Key"]: tag["Value"] for spec in specs for tag in spec.get("Tags", [])}
