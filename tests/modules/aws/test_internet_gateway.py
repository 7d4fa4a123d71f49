"""aws.internet_gateway: a network's way to and from the internet."""

from __future__ import annotations

from tests.modules.aws.test_vpc import VPC
from tests.support.aws.module_stage import AwsStage, keeps_its_promise

GATEWAY = {
    "name": "gateway",
    "aws.internet_gateway": {"name": "door", "vpc_id": "{{ vpc.VpcId }}"},
    "register": "gateway",
}


def test_a_gateway_keeps_its_promise(stage: AwsStage) -> None:
    other = {
        **GATEWAY,
        "aws.internet_gateway": {**GATEWAY["aws.internet_gateway"], "tags": {"purpose": "test"}},
    }
    keeps_its_promise(stage, GATEWAY, other, before=[VPC])


def test_one_that_was_made_and_not_attached_is_attached_by_the_next_run(stage: AwsStage) -> None:
    stage.aws.fault("error", service="ec2", action="AttachInternetGateway", status=400, times=1)
    assert stage.play([VPC, GATEWAY]).code == 2
    run = stage.play([VPC, GATEWAY])
    assert run.values["gateway"]["VpcId"] == run.values["network"]["VpcId"]
    assert len(stage.aws.client("ec2").describe_internet_gateways()["InternetGateways"]) == 1


def test_one_that_was_detached_and_not_deleted_is_deleted_by_the_next_run(stage: AwsStage) -> None:
    assert stage.play([VPC, GATEWAY]).code == 0
    stage.aws.fault("error", service="ec2", action="DeleteInternetGateway", status=400, times=1)
    assert stage.delete([VPC, GATEWAY]).code == 2
    assert stage.delete([VPC, GATEWAY]).code == 0
    assert stage.aws.client("ec2").describe_internet_gateways()["InternetGateways"] == []
