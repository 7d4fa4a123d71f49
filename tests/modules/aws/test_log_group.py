"""aws.log_group: it forgets in time."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage, keeps_its_promise

NAME = "/aws/eks/demo/cluster"


def logs(**more: Any) -> dict[str, Any]:
    return {"name": "logs", "aws.log_group": {"name": NAME, **more}, "register": "logs"}


def retention(stage: AwsStage) -> Any:
    (found,) = stage.aws.client("logs").describe_log_groups()["logGroups"]
    return found.get("retentionInDays")


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    def foreign() -> None:
        stage.aws.client("logs").create_log_group(logGroupName=NAME)

    keeps_its_promise(stage, logs(), logs(retention_days=7), foreign=foreign)


def test_lines_are_kept_as_long_as_declared(stage: AwsStage) -> None:
    stage.play([logs()])
    assert retention(stage) == 30
    stage.play([logs(retention_days=0)])
    assert retention(stage) is None
    assert not stage.play([logs(retention_days=0)]).changed


def test_one_whose_name_only_begins_the_same_is_another(stage: AwsStage) -> None:
    stage.aws.client("logs").create_log_group(logGroupName=f"{NAME}-old")
    assert stage.play([logs()]).changed == ["logs"]
    assert stage.delete([logs()]).code == 0
    (left,) = stage.aws.client("logs").describe_log_groups()["logGroups"]
    assert left["logGroupName"] == f"{NAME}-old"


def test_a_run_that_ended_before_the_retention_is_finished_by_the_next(stage: AwsStage) -> None:
    stage.aws.fault("error", service="logs", action="PutRetentionPolicy", status=400, times=1)
    assert stage.play([logs()]).code == 2
    assert stage.play([logs()]).changed == ["logs"]
    assert retention(stage) == 30


def test_a_number_of_days_that_does_not_exist_is_refused(stage: AwsStage) -> None:
    assert "retention_days is 0" in stage.play([logs(retention_days=8)]).messages
