"""aws.elastic_ip: a public address that stays the same."""

from __future__ import annotations

from tests.support.aws.module_stage import AwsStage, keeps_its_promise

ADDRESS = {"name": "address", "aws.elastic_ip": {"name": "out"}, "register": "address"}


def test_an_address_keeps_its_promise(stage: AwsStage) -> None:
    keeps_its_promise(
        stage, ADDRESS, {**ADDRESS, "aws.elastic_ip": {"name": "out", "tags": {"purpose": "test"}}}
    )


def test_a_lost_answer_leaves_one_address(stage: AwsStage) -> None:
    stage.aws.fault("lost", service="ec2", action="AllocateAddress", times=1)
    assert stage.play([ADDRESS]).code == 0
    assert len(stage.aws.client("ec2").describe_addresses()["Addresses"]) == 1
