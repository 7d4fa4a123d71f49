"""What a user may choose for a cluster: closed or open, its machines, their disks, their zone."""

from __future__ import annotations

import base64
from typing import Any

from tests.modules.aws.test_eks_variants import ROLE, at_home, variables, zones_of
from tests.support.aws.module_stage import AwsStage

__all__ = ["at_home"]  # a fixture of that file, for these tests as well

BLOCK, ZONE = "cr-0123456789abcdef0", "us-west-2c"
TAINT = [{"key": "gpu", "value": "yes", "effect": "NO_SCHEDULE"}]
GROUPS: list[dict[str, Any]] = [
    {
        "name": "block",
        "instance_types": ["p5.48xlarge"],
        "capacity_type": "CAPACITY_BLOCK",
        "capacity_reservation_id": BLOCK,
        "local_storage": "RAID0",
        "taints": TAINT,
    },
    {"name": "graviton", "instance_types": ["m7g.large"], "taints": TAINT},
    {"name": "graviton-gpu", "instance_types": ["g5g.xlarge"], "min_size": 0, "max_size": 1},
]


def test_a_closed_cluster_on_a_capacity_block_with_its_disks_joined(stage: AwsStage) -> None:
    reserved = {BLOCK: {"zone": ZONE, "instance_type": "p5.48xlarge"}}
    stage.aws.control("POST", "settings", {"reservations": reserved})
    run = stage.play(ROLE, eks_closed=True, eks_nodegroups=GROUPS, preflight_enabled=False)
    assert run.code == 0, run.messages
    eks, ec2 = stage.aws.client("eks"), stage.aws.client("ec2")
    made = {
        name: eks.describe_nodegroup(clusterName="demo", nodegroupName=name)["nodegroup"]
        for name in eks.list_nodegroups(clusterName="demo")["nodegroups"]
    }
    data = {
        name: ec2.describe_launch_template_versions(
            LaunchTemplateId=group["launchTemplate"]["id"], Versions=["$Default"]
        )["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        for name, group in made.items()
    }

    assert zones_of(stage, made["block"]["subnets"]) == {ZONE}
    assert zones_of(stage, made["graviton"]["subnets"]) > {ZONE}
    assert made["block"]["capacityType"] == "CAPACITY_BLOCK"
    assert data["block"]["InstanceType"] == "p5.48xlarge"
    assert data["block"]["InstanceMarketOptions"]["MarketType"] == "capacity-block"
    target = data["block"]["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert target["CapacityReservationId"] == BLOCK

    config = base64.b64decode(data["block"]["UserData"]).decode()
    assert config.startswith("MIME-Version: 1.0\n"), "EKS joins it with its own part"
    assert "Content-Type: application/node.eks.aws" in config
    assert "kind: NodeConfig" in config and "strategy: RAID0" in config
    assert "UserData" not in data["graviton"]

    assert {name: group["amiType"] for name, group in made.items()} == {
        "block": "AL2023_x86_64_NVIDIA",
        "graviton": "AL2023_ARM_64_STANDARD",
        "graviton-gpu": "AL2023_ARM_64_NVIDIA",
    }

    access = eks.describe_cluster(name="demo")["cluster"]["resourcesVpcConfig"]
    assert (access["endpointPublicAccess"], access["endpointPrivateAccess"]) == (False, True)
    hops = {one["MetadataOptions"]["HttpPutResponseHopLimit"] for one in data.values()}
    assert hops == {1}

    # No node takes any pod, so it cannot be well, and nobody waits twenty minutes for it
    addon = eks.describe_addon(clusterName="demo", addonName="coredns")["addon"]
    assert addon["status"] == "DEGRADED"
    again = stage.play(ROLE, eks_closed=True, eks_nodegroups=GROUPS, preflight_enabled=False)
    assert again.code == 0 and not again.changed, again.changed


def test_trainium_without_capacity_in_the_first_zone_goes_to_the_next(stage: AwsStage) -> None:
    given = variables("eks-trainium")
    ec2 = stage.aws.client("ec2")
    names = {
        zone["ZoneId"]: zone["ZoneName"]
        for zone in ec2.describe_availability_zones()["AvailabilityZones"]
    }
    stage.aws.fault(
        "insufficient_capacity", zone=names["usw2-az4"], instance_type=given["trainium_type"]
    )
    run = stage.play(ROLE, **given)
    assert run.code == 0, run.messages
    eks, cluster = stage.aws.client("eks"), given["cluster_name"]
    group = eks.describe_nodegroup(clusterName=cluster, nodegroupName="trn1-32xl-ng1")["nodegroup"]
    (subnet,) = ec2.describe_subnets(SubnetIds=group["subnets"])["Subnets"]
    assert subnet["AvailabilityZoneId"] != "usw2-az4"
    assert group["scalingConfig"]["desiredSize"] == 2 and group["status"] == "ACTIVE"
