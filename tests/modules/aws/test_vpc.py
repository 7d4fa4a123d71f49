"""aws.vpc: a network of our own."""

from __future__ import annotations

from tests.support.aws.module_stage import AwsStage, keeps_its_promise

VPC = {"name": "network", "aws.vpc": {"name": "net", "cidr": "10.0.0.0/16"}, "register": "vpc"}


def test_a_network_keeps_its_promise(stage: AwsStage) -> None:
    other = {
        **VPC,
        "aws.vpc": {**VPC["aws.vpc"], "dns_hostnames": False, "tags": {"purpose": "test"}},
    }
    keeps_its_promise(stage, VPC, other)


def test_names_are_given_to_instances_by_default(stage: AwsStage) -> None:
    number = stage.play([VPC]).values["network"]["VpcId"]
    ec2 = stage.aws.client("ec2")
    assert ec2.describe_vpc_attribute(VpcId=number, Attribute="enableDnsHostnames")[
        "EnableDnsHostnames"
    ]["Value"]
    assert ec2.describe_vpcs(VpcIds=[number])["Vpcs"][0]["CidrBlock"] == "10.0.0.0/16"


def test_its_addresses_cannot_be_changed(stage: AwsStage) -> None:
    assert stage.play([VPC]).code == 0
    run = stage.play([{**VPC, "aws.vpc": {"name": "net", "cidr": "10.1.0.0/16"}}])
    assert (
        run.code == 2
        and "CidrBlock is '10.0.0.0/16' and cannot become '10.1.0.0/16'" in run.messages
    )


def test_a_network_of_that_name_that_is_not_ours_is_not_touched(stage: AwsStage) -> None:
    spec = [{"ResourceType": "vpc", "Tags": [{"Key": "Name", "Value": "net"}]}]
    foreign = stage.aws.client("ec2").create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=spec)[
        "Vpc"
    ]
    assert stage.play([VPC]).values["network"]["VpcId"] != foreign["VpcId"]
    assert stage.delete([VPC]).code == 0
    assert stage.aws.client("ec2").describe_vpcs(VpcIds=[foreign["VpcId"]])["Vpcs"]


def test_a_run_that_was_killed_before_names_were_turned_on_is_finished(stage: AwsStage) -> None:
    stage.aws.fault("error", service="ec2", action="ModifyVpcAttribute", status=400, times=1)
    assert stage.play([VPC]).code == 2
    run = stage.play([VPC])
    assert run.code == 0 and run.values["network"]["EnableDnsHostnames"]
