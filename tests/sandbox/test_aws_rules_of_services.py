"""What AWS refuses, or does by itself, the pretend AWS does as well."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.aws.sandbox import PretendAws, refused


@pytest.mark.parametrize(
    ("more", "refusal"),
    [
        ({"instanceTypes": ["m7g.large"], "amiType": "AL2023_x86_64_STANDARD"}, "not a valid"),
        ({"instanceTypes": ["m7g.large"]}, "not a valid"),
        ({"capacityType": "CAPACITY_BLOCK", "instanceTypes": ["p5.48xlarge"]}, "launch template"),
    ],
)
def test_node_groups_that_cannot_be(aws: PretendAws, more: dict[str, Any], refusal: str) -> None:
    from botocore.exceptions import ClientError

    _, subnets = aws.network()
    aws.cluster(subnets)
    with pytest.raises(ClientError, match=refusal):
        aws.nodegroup("demo", subnets, **more)


@pytest.mark.parametrize(
    ("storage", "lustre"),
    [
        ("HDD", {"PerUnitStorageThroughput": 12}),
        ("SSD", {"PerUnitStorageThroughput": 50, "DriveCacheType": "NONE"}),
        (
            "SSD",
            {
                "PerUnitStorageThroughput": 50,
                "ImportPath": "s3://models",
                "AutomaticBackupRetentionDays": 1,
            },
        ),
    ],
)
def test_lustre_that_cannot_be(aws: PretendAws, storage: str, lustre: dict[str, Any]) -> None:
    _, subnets = aws.network()
    code = refused(
        lambda: aws.client("fsx").create_file_system(
            FileSystemType="LUSTRE",
            StorageCapacity=6000 if storage == "HDD" else 1200,
            StorageType=storage,
            SubnetIds=subnets[:1],
            LustreConfiguration={"DeploymentType": "PERSISTENT_1", **lustre},
        )
    )
    assert code == "BadRequest"


def test_an_instance_has_the_interfaces_and_the_placement_group_of_its_template(
    aws: PretendAws,
) -> None:
    ec2 = aws.client("ec2")
    vpc, subnets = aws.network(("us-west-2b",))
    group = ec2.create_security_group(GroupName="efa", Description="efa", VpcId=vpc)["GroupId"]
    ec2.create_placement_group(GroupName="close", Strategy="cluster")
    image = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    cards = [
        {
            "NetworkCardIndex": card,
            "DeviceIndex": min(card, 1),
            "SubnetId": subnets[0],
            "Groups": [group],
        }
        for card in range(4)
    ]
    ec2.create_launch_template(
        LaunchTemplateName="close",
        LaunchTemplateData={
            "ImageId": image,
            "InstanceType": "p4d.24xlarge",
            "NetworkInterfaces": cards,
            "Placement": {"GroupName": "close"},
        },
    )
    (made,) = ec2.run_instances(
        MinCount=1, MaxCount=1, LaunchTemplate={"LaunchTemplateName": "close"}
    )["Instances"]
    (shown,) = aws.instances()
    assert shown["InstanceId"] == made["InstanceId"] and shown["InstanceType"] == "p4d.24xlarge"
    assert shown["SubnetId"] == subnets[0] and shown["Placement"]["GroupName"] == "close"
    assert len(shown["NetworkInterfaces"]) == 4
    assert {one["GroupId"] for one in shown["SecurityGroups"]} == {group}
    assert refused(lambda: ec2.delete_placement_group(GroupName="close")).endswith("InUse")


@pytest.mark.parametrize(
    ("region", "kind"), [("us-east-1", "p4d.24xlarge"), ("us-west-2", "trn1.32xlarge")]
)
def test_accelerators_are_offered_in_some_zones_alone(
    aws: PretendAws, region: str, kind: str
) -> None:
    ec2 = aws.client("ec2", region=region)
    zones = {one["ZoneName"] for one in ec2.describe_availability_zones()["AvailabilityZones"]}
    found = ec2.describe_instance_type_offerings(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [kind]}]
    )["InstanceTypeOfferings"]
    assert {one["Location"] for one in found} < zones


def test_the_policy_of_the_lustre_driver_can_be_attached(aws: PretendAws) -> None:
    aws.role("lustre", "pods.eks.amazonaws.com")
    arn = "arn:aws:iam::aws:policy/AmazonFSxFullAccess"
    aws.client("iam").attach_role_policy(RoleName="lustre", PolicyArn=arn)


def test_a_region_that_is_none_is_refused(aws: PretendAws) -> None:
    with pytest.raises(Exception, match="us-nowhere-7"):
        aws.client("ec2", region="us-nowhere-7", retry=False).describe_vpcs()
