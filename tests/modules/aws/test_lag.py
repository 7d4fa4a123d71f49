"""AWS shows things late, and now and then not: nothing is made twice, and what is there twice all
the same is shown and can be deleted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.modules.aws.test_network_role import STEPS, left
from tests.support.aws.module_stage import AwsStage

LAG_SECONDS = 10.0
ROLE = STEPS[:1]
WISH: dict[str, Any] = {"network_most_zones": 2}
WHOLE = {
    "vpcs": 1,
    "subnets": 4,
    "tables": 2,
    "addresses": 1,
    "gateways": 1,
    "endpoints": 1,
    "nats": 1,
}


def lag(stage: AwsStage, seconds: float) -> None:
    stage.aws.control("POST", "settings", {"lag": {"*": seconds} if seconds else {}})


def counted(stage: AwsStage) -> dict[str, int]:
    lag(stage, 0)
    return {name: len(found) for name, found in left(stage).items()}


def test_reads_that_lag_ten_seconds_make_nothing_double(stage: AwsStage) -> None:
    lag(stage, LAG_SECONDS)
    made = stage.play(ROLE, **WISH)
    assert made.code == 0, made.messages
    again = stage.play(ROLE, **WISH)  # at once, while reads still go back and forth
    assert again.code == 0, again.messages
    assert counted(stage) == WHOLE
    time.sleep(LAG_SECONDS)  # what is older than the lag shows in every read
    lag(stage, LAG_SECONDS)
    gone = stage.delete(ROLE, **WISH)
    assert gone.code == 0, gone.text
    assert not any(counted(stage).values())


@pytest.mark.parametrize("action", ["CreateVpc", "AllocateAddress", "CreateInternetGateway"])
def test_an_answer_that_is_lost_while_reads_lag_makes_nothing_double(
    stage: AwsStage, action: str
) -> None:
    lag(stage, LAG_SECONDS)
    stage.aws.fault("lost", service="ec2", action=action, nth=1)
    made = stage.play(ROLE, **WISH)
    assert made.code == 0, made.messages
    assert counted(stage) == WHOLE


def _double(stage: AwsStage) -> set[str]:
    """The network as it is, and another VPC, gateway and address of the same names."""
    ec2 = stage.aws.client("ec2")
    assert stage.play(ROLE, **WISH).code == 0
    for kind, spelling, make in (
        ("vpcs", "vpc", lambda spec: ec2.create_vpc(CidrBlock="192.168.0.0/16", **spec)),
        ("gateways", "internet-gateway", lambda spec: ec2.create_internet_gateway(**spec)),
        ("addresses", "elastic-ip", lambda spec: ec2.allocate_address(Domain="vpc", **spec)),
    ):
        (there,) = left(stage)[kind]
        # Older than ours, by the run that its tag names: being in use counts for more.
        tags = [
            {**tag, "Value": "20200101-000000-aaaaaa"} if tag["Key"] == "playrunner:run" else tag
            for tag in there["Tags"]
        ]
        make({"TagSpecifications": [{"ResourceType": spelling, "Tags": tags}]})
    return {subnet["VpcId"] for subnet in left(stage)["subnets"]}


def test_a_double_is_shown_with_the_one_that_is_kept_and_deleting_takes_both(
    stage: AwsStage,
) -> None:
    (used,) = _double(stage)
    run = stage.play(ROLE, **WISH)
    assert run.code == 0 and run.changed == [], run.messages
    for kept in (f"vpc {used}", "internet-gateway igw-", "elastic-ip eipalloc-"):
        assert kept in run.text, run.text
    assert run.text.count("is kept and used") >= 3 and f"vpc {used} is kept and used" in run.text
    gone = stage.delete(ROLE, **WISH)
    assert gone.code == 0, gone.text
    assert not any(counted(stage).values())


def test_what_a_killed_run_had_made_is_taken_up_though_reads_do_not_show_it_yet(
    stage: AwsStage, tmp_path: Path
) -> None:
    """Its request had other tags than the next run's with the same token, which AWS refuses."""
    step = [{"name": "template", "aws.launch_template": {"name": "demo-nodes"}}]
    ec2 = stage.aws.client("ec2")
    assert stage.play(step).code == 0
    (made,) = ec2.describe_launch_templates()["LaunchTemplates"]
    token = _without_answer(
        next((tmp_path / "state/runs").glob("2*")), "ec2.create_launch_template"
    )
    ec2.delete_launch_template(LaunchTemplateName="demo-nodes")
    lag(stage, 6)
    ec2.describe_launch_templates()  # so that there is something old to show
    ec2.create_launch_template(
        LaunchTemplateName="demo-nodes",
        ClientToken=token,
        LaunchTemplateData={"InstanceType": "g4dn.xlarge"},
        TagSpecifications=[{"ResourceType": "launch-template", "Tags": made["Tags"]}],
    )
    again = stage.play(step)
    assert again.code == 0, again.messages
    lag(stage, 0)
    assert len(ec2.describe_launch_templates()["LaunchTemplates"]) == 1


def _without_answer(run: Path, call: str) -> str:
    """The record of a run as it is when the run is killed after this call, with another token; that
    token."""
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    at = next(number for number, event in enumerate(events) if event.get("call") == call)
    events[at]["token"] = "ab" * 16
    kept = "".join(json.dumps(event) + "\n" for event in events[: at + 1])
    (run / "events.jsonl").write_text(kept)
    return str(events[at]["token"])
