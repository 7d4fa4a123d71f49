"""aws.network_info: a network that is already there, and whether a cluster can live in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.aws.module_stage import AwsStage, Run


@pytest.fixture
def foreign(stage: AwsStage) -> dict[str, Any]:
    """A network of somebody else's: a public and a private subnet in two zones, the private ones
    behind a NAT gateway."""
    ec2 = stage.aws.client("ec2")
    vpc, private = stage.aws.network()
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    public = ec2.create_subnet(
        VpcId=vpc, CidrBlock="192.168.128.0/19", AvailabilityZone="us-west-2a"
    )["Subnet"]["SubnetId"]
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    ec2.associate_route_table(RouteTableId=table, SubnetId=public)
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=public, AllocationId=address)["NatGateway"][
        "NatGatewayId"
    ]
    only = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
    main = ec2.describe_route_tables(Filters=only)["RouteTables"][0]["RouteTableId"]
    ec2.create_route(RouteTableId=main, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat)
    return {"vpc": vpc, "public": public, "private": private, "main": main}


def look(stage: AwsStage, vpc: str, **more: Any) -> Run:
    return stage.play(
        [{"name": "network", "aws.network_info": {"vpc_id": vpc, **more}}], check=True
    )


def test_subnets_are_told_apart(stage: AwsStage, foreign: dict[str, Any]) -> None:
    run = look(stage, foreign["vpc"])
    assert run.code == 0, run.messages
    found = run.values["network"]
    assert (found["public_subnet_ids"], found["private_subnet_ids"]) == (
        [foreign["public"]],
        foreign["private"],
    )
    assert found["zones"] == ["us-west-2a", "us-west-2b"] and found["CidrBlock"] == "192.168.0.0/16"


def test_everything_that_is_wrong_is_told_at_once(stage: AwsStage, foreign: dict[str, Any]) -> None:
    ec2 = stage.aws.client("ec2")
    ec2.delete_route(RouteTableId=foreign["main"], DestinationCidrBlock="0.0.0.0/0")
    ec2.modify_vpc_attribute(VpcId=foreign["vpc"], EnableDnsHostnames={"Value": False})
    run = look(
        stage,
        foreign["vpc"],
        zones=["us-west-2d"],
        least_free_ips=9000,
        subnet_ids=[*foreign["private"], "subnet-x"],
    )
    assert run.code == 2
    for said in (
        "no subnet subnet-x",
        "no subnet in us-west-2d",
        "free addresses and 9000 are needed",
        f"{foreign['private'][0]} in us-west-2a has no route to the internet",
        "enableDnsHostnames is off",
    ):
        assert said in run.messages


def test_one_zone_is_not_enough_for_a_cluster(stage: AwsStage, foreign: dict[str, Any]) -> None:
    assert (
        "lie in 1 zone(s) and 2 are needed"
        in look(stage, foreign["vpc"], subnet_ids=foreign["private"][:1]).messages
    )


def test_a_network_that_is_not_there(stage: AwsStage) -> None:
    assert "there is no network vpc-0123 in us-west-2" in look(stage, "vpc-0123").messages


def test_nothing_is_changed(stage: AwsStage, foreign: dict[str, Any]) -> None:
    mark = len(stage.aws.calls())
    assert look(stage, foreign["vpc"]).code == 0
    assert not [call for call in stage.aws.calls()[mark:] if call["mutating"]]
