"""aws.nat_gateway: the way out for subnets that cannot be reached from outside."""

from __future__ import annotations

from tests.modules.aws.test_elastic_ip import ADDRESS
from tests.modules.aws.test_internet_gateway import GATEWAY
from tests.modules.aws.test_subnet import subnet
from tests.modules.aws.test_vpc import VPC
from tests.support.aws.module_stage import AwsStage, keeps_its_promise

BEFORE = [VPC, GATEWAY, subnet(public=True), ADDRESS]
WISH = {
    "name": "out",
    "subnet_id": "{{ subnet.SubnetId }}",
    "allocation_id": "{{ address.AllocationId }}",
    "after": "{{ gateway }}",
}
NAT = {"name": "nat", "aws.nat_gateway": WISH, "register": "nat"}


def test_a_nat_gateway_keeps_its_promise(stage: AwsStage) -> None:
    keeps_its_promise(
        stage, NAT, {**NAT, "aws.nat_gateway": {**WISH, "tags": {"purpose": "test"}}}, before=BEFORE
    )
    ec2 = stage.aws.client("ec2")
    assert {one["State"] for one in ec2.describe_nat_gateways()["NatGateways"]} == {"deleted"}
    assert ec2.describe_addresses()["Addresses"] == []


def test_it_is_waited_for(stage: AwsStage) -> None:
    stage.aws.delays(ec2__nat_gateway__create=1.0)
    assert stage.play([*BEFORE, NAT]).values["nat"]["State"] == "available"


def test_a_lost_answer_leaves_one_gateway(stage: AwsStage) -> None:
    stage.aws.fault("lost", service="ec2", action="CreateNatGateway", times=1)
    assert stage.play([*BEFORE, NAT]).code == 0
    assert len(stage.aws.client("ec2").describe_nat_gateways()["NatGateways"]) == 1


def test_it_cannot_move_to_another_subnet(stage: AwsStage) -> None:
    assert stage.play([*BEFORE, NAT]).code == 0
    moved = {**NAT, "aws.nat_gateway": {**WISH, "subnet_id": "subnet-elsewhere"}}
    assert "cannot become 'subnet-elsewhere'" in stage.play([*BEFORE, moved]).messages
