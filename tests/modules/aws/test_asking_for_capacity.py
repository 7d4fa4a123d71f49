"""What an account lacks is said with the way to get it: quotas to ask for, blocks to buy."""

from __future__ import annotations

from tests.modules.aws.test_preflight import CLUSTER, GPU, preflight, problem
from tests.support.aws.module_stage import AwsStage

CODE = "L-DB2E81BA"


def test_a_quota_that_is_too_small_comes_with_the_command_until_it_was_asked_for(
    stage: AwsStage,
) -> None:
    stage.aws.control("POST", "settings", {"quotas": {CODE: 4}})
    text = problem(preflight(stage, cluster=CLUSTER, node_groups=[GPU]))
    asking = (
        "aws service-quotas request-service-quota-increase --region us-west-2 --service-code ec2"
        f" --quota-code {CODE} --desired-value 8"
    )
    assert asking in text, text
    stage.aws.client("service-quotas").request_service_quota_increase(
        ServiceCode="ec2", QuotaCode=CODE, DesiredValue=8.0
    )
    again = problem(preflight(stage, cluster=CLUSTER, node_groups=[GPU]))
    assert "8 were asked for on " in again and "(PENDING)" in again and asking not in again


def test_a_reservation_that_is_not_there_comes_with_the_blocks_that_are_offered(
    stage: AwsStage,
) -> None:
    step = {
        "name": "block",
        "aws.capacity_reservation": {"id": "cr-1", "instance_type": "p5.48xlarge"},
    }
    missing = stage.play([step])
    assert missing.code == 2 and "there is no capacity reservation cr-1" in missing.messages
    assert "blocks of one p5.48xlarge for a day are offered in us-west-2" in missing.messages
    stage.aws.control(
        "POST",
        "settings",
        {"reservations": {"cr-1": {"zone": "us-west-2a", "instance_type": "p5.48xlarge"}}},
    )
    assert stage.play([step]).values["block"]["AvailabilityZone"] == "us-west-2a"
