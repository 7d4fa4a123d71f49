"""The pretend tagging API tells what is there and tagged, nothing else: the leak check leans on
it."""

from __future__ import annotations

from typing import Any

from tests.support.aws.leftovers_world import TRUST
from tests.support.aws.sandbox import PretendAws
from tests.support.until import until

TAGS = {"owner": "us"}
LIST = [{"Key": "owner", "Value": "us"}]


def ours(aws: PretendAws) -> set[str]:
    """The kinds of tagged things: service and type."""
    pages = (
        aws.client("resourcegroupstaggingapi")
        .get_paginator("get_resources")
        .paginate(TagFilters=[{"Key": "owner", "Values": ["us"]}])
    )
    arns = [one["ResourceARN"] for page in pages for one in page["ResourceTagMappingList"]]
    return {f"{arn.split(':')[2]}:{arn.split(':', 5)[5].partition('/')[0]}" for arn in arns}


def spec(kind: str) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": LIST}]


def test_everything_tagged_is_listed_and_iam_is_not(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")
    _, subnets = aws.network()
    aws.cluster(subnets, tags=TAGS)
    aws.nodegroup("demo", subnets, tags=TAGS)
    aws.client("ecr").create_repository(repositoryName="images", tags=LIST)
    aws.client("efs").create_file_system(CreationToken="data", Tags=LIST)
    aws.client("fsx").create_file_system(
        FileSystemType="LUSTRE", StorageCapacity=1200, SubnetIds=subnets[:1], Tags=LIST
    )
    aws.client("logs").create_log_group(logGroupName="/ours", tags=TAGS)
    aws.client("s3").create_bucket(
        Bucket="ours-data", CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
    )
    aws.client("s3").put_bucket_tagging(Bucket="ours-data", Tagging={"TagSet": LIST})
    ec2.create_launch_template(
        LaunchTemplateName="t",
        LaunchTemplateData={"InstanceType": "t3.micro"},
        TagSpecifications=spec("launch-template"),
    )
    ec2.allocate_address(Domain="vpc", TagSpecifications=spec("elastic-ip"))
    ec2.create_placement_group(GroupName="g", TagSpecifications=spec("placement-group"))
    ec2.create_key_pair(KeyName="k", KeyType="ed25519", TagSpecifications=spec("key-pair"))
    ec2.create_tags(Resources=subnets, Tags=LIST)
    aws.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument=TRUST, Tags=LIST)
    assert ours(aws) == {
        "eks:cluster",
        "eks:nodegroup",
        "ecr:repository",
        "elasticfilesystem:file-system",
        "fsx:file-system",
        "logs:log-group:",
        "s3:ours-data",
        "ec2:launch-template",
        "ec2:elastic-ip",
        "ec2:placement-group",
        "ec2:key-pair",
        "ec2:subnet",
    }


def test_what_is_gone_is_not_listed(aws: PretendAws) -> None:
    ec2 = aws.client("ec2")
    _, subnets = aws.network()
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = ec2.create_nat_gateway(
        SubnetId=subnets[0], AllocationId=address, TagSpecifications=spec("natgateway")
    )["NatGateway"]["NatGatewayId"]
    wish = {
        "ImageId": "ami-0a1000000000000a1",
        "InstanceType": "t3.micro",
        "MinCount": 1,
        "MaxCount": 1,
        "SubnetId": subnets[1],
    }
    instance = ec2.run_instances(**wish, TagSpecifications=spec("instance"))["Instances"][0][
        "InstanceId"
    ]
    group = ec2.create_placement_group(GroupName="g", TagSpecifications=spec("placement-group"))[
        "PlacementGroup"
    ]["GroupId"]
    assert ours(aws) == {"ec2:natgateway", "ec2:instance", "ec2:placement-group"}
    ec2.delete_nat_gateway(NatGatewayId=nat)
    ec2.terminate_instances(InstanceIds=[instance])
    ec2.delete_placement_group(GroupName="g")
    until(lambda: ours(aws), lambda left: not left)
    listed = {one["ResourceId"] for one in ec2.describe_tags()["Tags"]}
    assert group not in listed


def test_tags_can_be_put_and_taken(aws: PretendAws) -> None:
    tagging = aws.client("resourcegroupstaggingapi")
    _, subnets = aws.network()
    arn = aws.cluster(subnets)["arn"]
    group = aws.client("ec2").create_placement_group(GroupName="g")["PlacementGroup"]
    assert (
        tagging.tag_resources(ResourceARNList=[arn, group["GroupArn"]], Tags=TAGS)[
            "FailedResourcesMap"
        ]
        == {}
    )
    assert ours(aws) == {"eks:cluster", "ec2:placement-group"}
    assert aws.client("eks").list_tags_for_resource(resourceArn=arn)["tags"] == TAGS
    tagging.untag_resources(ResourceARNList=[arn], TagKeys=["owner"])
    aws.client("ec2").delete_tags(Resources=[group["GroupId"]], Tags=[{"Key": "owner"}])
    assert ours(aws) == set()
