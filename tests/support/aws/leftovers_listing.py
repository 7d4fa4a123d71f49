"""Everything there is in the pretend account, told by each service itself and in full: to compare
before and after."""

from __future__ import annotations

import json
from typing import Any

from tests.support.aws.sandbox import PretendAws
from tests.support.until import until

EC2 = {
    "describe_vpcs": "Vpcs",
    "describe_subnets": "Subnets",
    "describe_security_groups": "SecurityGroups",
    "describe_route_tables": "RouteTables",
    "describe_network_acls": "NetworkAcls",
    "describe_internet_gateways": "InternetGateways",
    "describe_network_interfaces": "NetworkInterfaces",
    "describe_volumes": "Volumes",
    "describe_launch_templates": "LaunchTemplates",
    "describe_key_pairs": "KeyPairs",
    "describe_placement_groups": "PlacementGroups",
    "describe_addresses": "Addresses",
    "describe_vpc_endpoints": "VpcEndpoints",
    "describe_nat_gateways": "NatGateways",
}
OTHERS = {
    ("elbv2", "describe_load_balancers"): "LoadBalancers",
    ("elbv2", "describe_target_groups"): "TargetGroups",
    ("elb", "describe_load_balancers"): "LoadBalancerDescriptions",
    ("eks", "list_clusters"): "clusters",
    ("efs", "describe_file_systems"): "FileSystems",
    ("efs", "describe_access_points"): "AccessPoints",
    ("fsx", "describe_file_systems"): "FileSystems",
    ("iam", "list_roles"): "Roles",
    ("iam", "list_instance_profiles"): "InstanceProfiles",
    ("ecr", "describe_repositories"): "repositories",
    ("iam", "list_open_id_connect_providers"): "OpenIDConnectProviderList",
    ("logs", "describe_log_groups"): "logGroups",
}


def listing(aws: PretendAws) -> dict[str, Any]:
    """All things with all they say, by the call that told."""
    found = {call: getattr(aws.client("ec2"), call)()[key] for call, key in EC2.items()}
    found |= {
        f"{service} {call}": getattr(aws.client(service), call)()[key]
        for (service, call), key in OTHERS.items()
    }
    found["instances"] = [one for one in aws.instances() if one["State"]["Name"] != "terminated"]
    found["describe_nat_gateways"] = [
        one for one in found["describe_nat_gateways"] if one["State"] != "deleted"
    ]
    there = {vpc["VpcId"] for vpc in found["describe_vpcs"]}
    # moto keeps the default list of a VPC that is gone.
    found["describe_network_acls"] = [
        acl for acl in found["describe_network_acls"] if acl["VpcId"] in there
    ]
    marked = [{"Name": "tag-key", "Values": ["playrunner:cluster"]}]  # moto has hundreds of its own
    found["snapshots"] = aws.client("ec2").describe_snapshots(OwnerIds=["self"], Filters=marked)[
        "Snapshots"
    ]
    found["policies"] = aws.client("iam").list_policies(Scope="Local")["Policies"]
    found["roles"] = [_role(aws, role["RoleName"]) for role in found["iam list_roles"]]
    found["buckets"] = [
        _bucket(aws, bucket["Name"]) for bucket in aws.client("s3").list_buckets()["Buckets"]
    ]
    efs, systems = aws.client("efs"), found["efs describe_file_systems"]
    found["mounts"] = [
        efs.describe_mount_targets(FileSystemId=one["FileSystemId"])["MountTargets"]
        for one in systems
    ]
    for system in systems:
        del system["SizeInBytes"]["Timestamp"]  # when it was measured: at each question
    return {
        name: json.loads(json.dumps(things, default=str, sort_keys=True))
        for name, things in found.items()
    }


def _role(aws: PretendAws, name: str) -> dict[str, Any]:
    iam = aws.client("iam")
    return {
        "tags": iam.list_role_tags(RoleName=name)["Tags"],
        "attached": iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"],
        "inline": iam.list_role_policies(RoleName=name)["PolicyNames"],
    }


def _bucket(aws: PretendAws, name: str) -> dict[str, Any]:
    s3 = aws.client("s3")
    objects = s3.list_object_versions(Bucket=name)
    return {
        "name": name,
        "tags": s3.get_bucket_tagging(Bucket=name)["TagSet"],
        "versions": objects.get("Versions"),
        "markers": objects.get("DeleteMarkers"),
        "uploads": s3.list_multipart_uploads(Bucket=name).get("Uploads"),
    }


def settle(aws: PretendAws) -> None:
    """Wait until operations have ended, so that nothing changes by itself between two listings."""
    ec2, fsx, efs = aws.client("ec2"), aws.client("fsx"), aws.client("efs")
    until(
        lambda: all(
            one["State"] == "available" for one in ec2.describe_nat_gateways()["NatGateways"]
        )
    )
    until(
        lambda: all(
            one["Lifecycle"] == "AVAILABLE" for one in fsx.describe_file_systems()["FileSystems"]
        )
    )
    systems = [one["FileSystemId"] for one in efs.describe_file_systems()["FileSystems"]]
    until(
        lambda: all(
            target["LifeCycleState"] == "available"
            for system in systems
            for target in efs.describe_mount_targets(FileSystemId=system)["MountTargets"]
        )
    )
