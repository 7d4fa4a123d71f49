"""aws.placement_group: instances close to each other."""

from __future__ import annotations

from tests.support.aws.module_stage import AwsStage, keeps_its_promise

GROUP = {"name": "group", "aws.placement_group": {"name": "demo-tight"}, "register": "group"}


def test_a_placement_group_keeps_its_promise(stage: AwsStage) -> None:
    other = {**GROUP, "aws.placement_group": {"name": "demo-tight", "tags": {"purpose": "test"}}}
    keeps_its_promise(
        stage,
        GROUP,
        other,
        foreign=lambda: stage.aws.client("ec2").create_placement_group(GroupName="demo-tight"),
    )


def test_a_lost_answer_is_looked_into(stage: AwsStage) -> None:
    stage.aws.fault("lost", service="ec2", action="CreatePlacementGroup", times=1)
    run = stage.play([GROUP])
    assert run.code == 0 and run.values["group"]["Strategy"] == "cluster"


def test_its_strategy_cannot_be_changed(stage: AwsStage) -> None:
    assert stage.play([GROUP]).code == 0
    run = stage.play(
        [{**GROUP, "aws.placement_group": {"name": "demo-tight", "strategy": "spread"}}]
    )
    assert "Strategy is 'cluster' and cannot become 'spread'" in run.messages
