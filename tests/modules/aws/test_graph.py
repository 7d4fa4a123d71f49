"""Steps in the background: a graph made of what reads what."""

from __future__ import annotations

import time
from typing import Any

from tests.support.aws.module_stage import AwsStage

VPC = {"name": "network", "aws.vpc": {"name": "net", "cidr": "10.0.0.0/16"}, "register": "vpc"}
GATEWAY = {
    "name": "gateway",
    "aws.internet_gateway": {"name": "door", "vpc_id": "{{ vpc.VpcId }}"},
    "register": "gateway",
}


def file_system(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "aws.efs_filesystem": {"name": name, **more}, "register": name}


def test_a_step_waits_for_what_it_reads_and_for_nothing_else(stage: AwsStage) -> None:
    stage.aws.delays(**{"*": 0.0, "efs.file_system": 3.0})
    run = stage.play(
        [file_system("one"), file_system("two"), file_system("three", after="{{ one }}"), VPC]
    )
    assert run.code == 0, run.messages
    seconds = {result["step"]: result["seconds"] for result in run.results}
    assert all(2.9 < seconds[name] < 5.8 for name in ("one", "two", "three")), seconds


def test_what_check_would_make_is_unknown_to_later_steps(stage: AwsStage) -> None:
    run = stage.play([VPC, GATEWAY], check=True)
    assert run.statuses == {"network": "changed", "gateway": "unknown"}


def test_things_go_in_the_reverse_order_of_what_reads_what(stage: AwsStage) -> None:
    steps = [VPC, GATEWAY]
    assert stage.play(steps).code == 0
    mark = len(stage.aws.calls())
    assert stage.delete(steps).code == 0
    deleted = [
        call["action"]
        for call in stage.aws.calls()[mark:]
        if call["mutating"] and call["status"] < 300
    ]
    assert deleted == ["DetachInternetGateway", "DeleteInternetGateway", "DeleteVpc"]


def test_a_failure_stops_what_has_not_begun_and_names_the_cause(stage: AwsStage) -> None:
    stage.aws.delays(**{"*": 0.0, "efs.file_system": 20.0})
    stage.aws.fault("error", service="ec2", action="CreateVpc", status=400)
    started = time.monotonic()
    run = stage.play([file_system("slow"), VPC, GATEWAY])
    assert (run.code == 2 and "CreateVpc" in run.messages) or "create_vpc" in run.messages
    assert "gateway" not in run.statuses
    assert time.monotonic() - started < 10, "what is still on its way elsewhere is not waited for"


def test_an_answer_that_was_lost_leaves_one_thing_not_two(stage: AwsStage) -> None:
    stage.aws.fault("lost", service="ec2", action="CreateVpc", times=1)
    run = stage.play([VPC])
    assert run.code == 0, run.messages
    found = stage.aws.client("ec2").describe_vpcs(
        Filters=[{"Name": "tag:Name", "Values": ["net"]}]
    )["Vpcs"]
    assert len(found) == 1


def test_throttled_calls_are_asked_again(stage: AwsStage) -> None:
    stage.aws.fault("throttle", probability=0.3, seed=7)
    run = stage.play([VPC, GATEWAY, file_system("store")])
    assert run.code == 0, run.messages
