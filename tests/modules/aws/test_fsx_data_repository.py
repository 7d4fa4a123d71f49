"""aws.fsx_data_repository: a folder of a Lustre file system that shows a bucket."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage, keeps_its_promise
from tests.support.until import until


def link(file_system: str, **more: Any) -> dict[str, Any]:
    wish = {"name": "data", "file_system": file_system, "bucket": "s3://data/in", "path": "/in"}
    return {"name": "link", "aws.fsx_data_repository": {**wish, **more}}


def made(stage: AwsStage, deployment: str = "PERSISTENT_2") -> str:
    _, subnets = stage.aws.network()
    wish = {"name": "fast", "subnet": subnets[0], "capacity_gib": 1200, "deployment": deployment}
    if deployment == "PERSISTENT_2":
        wish["throughput_per_tib"] = 125
    run = stage.play([{"name": "fast", "aws.fsx_lustre": wish}])
    assert run.code == 0, run.messages
    return str(run.values["fast"]["FileSystemId"])


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    number = made(stage)
    keeps_its_promise(stage, link(number), link(number, export_events=["NEW"]))


def test_two_that_overlap_and_file_systems_that_cannot_are_refused(stage: AwsStage) -> None:
    number = made(stage)
    assert stage.play([link(number)]).code == 0
    inside = stage.play([link(number, name="other", bucket="s3://data/in/deeper", path="/x")])
    assert inside.code == 2 and "overlaps" in inside.messages
    moved = stage.play([link(number, bucket="s3://elsewhere")])
    assert moved.code == 2 and "cannot be changed" in moved.messages
    assert "s3://NAME" in stage_refusal(stage, link(number, bucket="data"))


def stage_refusal(stage: AwsStage, step: dict[str, Any]) -> str:
    try:
        return stage.play([step]).text
    except Exception as error:
        return str(error)


def test_it_goes_with_its_file_system(stage: AwsStage) -> None:
    number = made(stage, "SCRATCH_2")
    assert stage.play([link(number)]).code == 0
    fsx = stage.aws.client("fsx")
    fsx.delete_file_system(FileSystemId=number)
    until(
        lambda: fsx.describe_data_repository_associations()["Associations"], lambda left: not left
    )
