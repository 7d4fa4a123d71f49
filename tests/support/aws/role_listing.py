"""Everything in the pretend account, asked for service by service with plain boto3: nothing of ours
is trusted here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.aws.sandbox import PretendAws

Listing = dict[str, list[str]]


def everything(aws: PretendAws) -> Listing:
    """The ids of all there is, by kind; what is terminated or deleted is not there."""
    found = {**_ec2(aws), **_others(aws)}
    return {kind: sorted(ids) for kind, ids in found.items() if ids}


def shape(aws: PretendAws) -> Listing:
    """The same by name instead of id: two worlds made by the same roles look alike."""
    ec2 = aws.client("ec2")
    named = {kind: [_name(item) for item in read(ec2)] for kind, read in _NAMED.items()}
    plain = {
        kind: ids
        for kind, ids in _others(aws).items()
        if kind not in ("efs", "fsx", "load balancer")
    }
    sizes = {kind: [str(len(ids))] for kind, ids in everything(aws).items()}
    return {kind: sorted(names) for kind, names in {**sizes, **plain, **named}.items() if names}


def _all(client: Any, operation: str, key: str, **arguments: Any) -> list[Any]:
    """Every page: what is deleted stays in some lists for a while, and pushes what is there to the
    next one."""
    if client.can_paginate(operation):
        return list(
            client.get_paginator(operation).paginate(**arguments).build_full_result().get(key, ())
        )
    return list(getattr(client, operation)(**arguments)[key])


def _name(item: dict[str, Any]) -> str:
    return next((tag["Value"] for tag in item.get("Tags", ()) if tag["Key"] == "Name"), "")


_NAMED: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "vpc": lambda ec2: _all(ec2, "describe_vpcs", "Vpcs"),
    "subnet": lambda ec2: _all(ec2, "describe_subnets", "Subnets"),
    "route table": lambda ec2: _all(ec2, "describe_route_tables", "RouteTables"),
    "internet gateway": lambda ec2: _all(ec2, "describe_internet_gateways", "InternetGateways"),
    "nat gateway": lambda ec2: [
        one
        for one in _all(ec2, "describe_nat_gateways", "NatGateways")
        if one["State"] != "deleted"
    ],
    "address": lambda ec2: _all(ec2, "describe_addresses", "Addresses"),
    "security group": lambda ec2: _all(ec2, "describe_security_groups", "SecurityGroups"),
}


def _ec2(aws: PretendAws) -> Listing:
    ec2 = aws.client("ec2")
    instances = [
        one
        for group in _all(ec2, "describe_instances", "Reservations")
        for one in group["Instances"]
    ]
    return {
        "vpc": [one["VpcId"] for one in _all(ec2, "describe_vpcs", "Vpcs")],
        "subnet": [one["SubnetId"] for one in _all(ec2, "describe_subnets", "Subnets")],
        "route table": [
            one["RouteTableId"] for one in _all(ec2, "describe_route_tables", "RouteTables")
        ],
        "internet gateway": [
            one["InternetGatewayId"]
            for one in _all(ec2, "describe_internet_gateways", "InternetGateways")
        ],
        "nat gateway": [
            one["NatGatewayId"]
            for one in _all(ec2, "describe_nat_gateways", "NatGateways")
            if one["State"] != "deleted"
        ],
        "address": [one["AllocationId"] for one in _all(ec2, "describe_addresses", "Addresses")],
        "security group": [
            one["GroupId"] for one in _all(ec2, "describe_security_groups", "SecurityGroups")
        ],
        "interface": [
            one["NetworkInterfaceId"]
            for one in _all(ec2, "describe_network_interfaces", "NetworkInterfaces")
        ],
        "endpoint": [
            one["VpcEndpointId"] for one in _all(ec2, "describe_vpc_endpoints", "VpcEndpoints")
        ],
        "volume": [one["VolumeId"] for one in _all(ec2, "describe_volumes", "Volumes")],
        "instance": [
            one["InstanceId"] for one in instances if one["State"]["Name"] != "terminated"
        ],
        "launch template": [
            one["LaunchTemplateName"]
            for one in _all(ec2, "describe_launch_templates", "LaunchTemplates")
        ],
        "key pair": [one["KeyName"] for one in _all(ec2, "describe_key_pairs", "KeyPairs")],
        "placement group": [
            one["GroupName"]
            for one in _all(ec2, "describe_placement_groups", "PlacementGroups")
            if one["State"] != "deleted"
        ],
    }


def _others(aws: PretendAws) -> Listing:
    eks, iam = aws.client("eks"), aws.client("iam")
    clusters = _all(eks, "list_clusters", "clusters")
    return {
        "cluster": clusters,
        "node group": [
            one
            for name in clusters
            for one in _all(eks, "list_nodegroups", "nodegroups", clusterName=name)
        ],
        "add-on": [
            one for name in clusters for one in _all(eks, "list_addons", "addons", clusterName=name)
        ],
        "role": [one["RoleName"] for one in _all(iam, "list_roles", "Roles")],
        "policy": [one["Arn"] for one in _all(iam, "list_policies", "Policies", Scope="Local")],
        "instance profile": [
            one["InstanceProfileName"]
            for one in _all(iam, "list_instance_profiles", "InstanceProfiles")
        ],
        "identity provider": [
            one["Arn"]
            for one in _all(iam, "list_open_id_connect_providers", "OpenIDConnectProviderList")
        ],
        "efs": [
            one["FileSystemId"]
            for one in _all(aws.client("efs"), "describe_file_systems", "FileSystems")
        ],
        "fsx": [
            one["FileSystemId"]
            for one in _all(aws.client("fsx"), "describe_file_systems", "FileSystems")
        ],
        "bucket": [one["Name"] for one in _all(aws.client("s3"), "list_buckets", "Buckets")],
        "repository": [
            one["repositoryName"]
            for one in _all(aws.client("ecr"), "describe_repositories", "repositories")
        ],
        "log group": [
            one["logGroupName"]
            for one in _all(aws.client("logs"), "describe_log_groups", "logGroups")
        ],
        "load balancer": [
            one["LoadBalancerArn"]
            for one in _all(aws.client("elbv2"), "describe_load_balancers", "LoadBalancers")
        ],
    }
