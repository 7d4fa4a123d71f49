"""What no step can work without ends a run with one line and exit code 5; a right that is missing
is named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.modules.aws.test_network_role import STEPS
from tests.support.aws.module_stage import AwsStage, Run

ROLE = STEPS[:1]


def failed(run: Run) -> list[str]:
    return [
        str(result["values"].get("msg")) for result in run.results if result["status"] == "failed"
    ]


def test_an_expired_token_is_named_as_such_and_once(stage: AwsStage) -> None:
    stage.aws.fault("deny", service="ec2", code="ExpiredToken", message="the token is expired")
    run = stage.play(ROLE, preflight_enabled=False)
    assert run.code == 5, run.messages
    (said,) = failed(run)
    assert "AWS credentials have expired" in said and "permission" not in said, said


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"aws_profile": "nobody"}, "nobody"),
        ({"ttl": "soon"}, "--ttl takes a time"),
        ({"cluster_name": ""}, "cluster_name is not set"),
        ({"network_nat": "oen"}, 'did you mean "one"'),
    ],
)
def test_a_setting_that_no_step_can_work_with_exits_with_5(
    stage: AwsStage, wish: dict[str, Any], said: str
) -> None:
    run = stage.play(ROLE, **wish)
    assert run.code == 5, run.messages
    assert said in run.messages, run.messages
    assert len(failed(run)) == 1, failed(run)
    assert not [call for call in stage.aws.calls() if call["mutating"]]


def test_a_misspelled_node_group_is_named_with_file_and_line(stage: AwsStage) -> None:
    groups = [{"name": "gpu", "instance_types": ["g4dn.xlarge"], "capacity_typ": "SPOT"}]
    wish = {"declared": {"eks_nodegroups": "{{ eks_nodegroups }}"}}
    run = stage.play([{"name": "preflight", "aws.preflight": wish}], eks_nodegroups=groups)
    assert run.code == 5, run.messages
    assert "inventory.yaml:" in run.messages and "capacity_type" in run.messages, run.messages


@pytest.mark.parametrize("action", ["CreateVpc", "AllocateAddress", "CreateSubnet"])
def test_a_right_that_is_missing_is_named(stage: AwsStage, action: str) -> None:
    stage.aws.fault("deny", service="ec2", action=action, message="no")
    run = stage.play(ROLE, preflight_enabled=False)
    assert run.code == 2 and f"ec2:{action}" in run.text, run.messages
