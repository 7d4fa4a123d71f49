"""aws.s3_bucket: private, encrypted, ours from its first moment, and never emptied without being
told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.aws.module_stage import AwsStage, keeps_its_promise
from tests.support.aws.sandbox import PretendAws

NAME = "demo-models"


def bucket(**more: Any) -> dict[str, Any]:
    return {"name": "bucket", "aws.s3_bucket": {"name": NAME, **more}, "register": "bucket"}


def names(aws: PretendAws) -> list[str]:
    return [one["Name"] for one in aws.client("s3").list_buckets()["Buckets"]]


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    def foreign() -> None:
        where = {"LocationConstraint": "us-west-2"}
        stage.aws.client("s3").create_bucket(Bucket=NAME, CreateBucketConfiguration=where)

    keeps_its_promise(stage, bucket(), bucket(versioning=True), foreign=foreign)
    assert names(stage.aws) == [NAME], "the foreign one is still there"


def test_nobody_outside_can_read_it_and_it_is_encrypted(stage: AwsStage) -> None:
    made = stage.play([bucket()]).values["bucket"]
    s3 = stage.aws.client("s3")
    assert set(
        s3.get_public_access_block(Bucket=NAME)["PublicAccessBlockConfiguration"].values()
    ) == {True}
    (rule,) = s3.get_bucket_encryption(Bucket=NAME)["ServerSideEncryptionConfiguration"]["Rules"]
    assert rule["ApplyServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert s3.get_bucket_location(Bucket=NAME)["LocationConstraint"] == "us-west-2"
    assert made["Arn"] == f"arn:aws:s3:::{NAME}"


def test_us_east_1_is_not_named(stage: AwsStage) -> None:
    assert stage.play([bucket()], aws_region="us-east-1").code == 0
    assert (
        stage.aws.client("s3", "us-east-1").get_bucket_location(Bucket=NAME)["LocationConstraint"]
        is None
    )


def test_it_is_mended_when_somebody_opened_it(stage: AwsStage) -> None:
    stage.play([bucket()])
    s3 = stage.aws.client("s3")
    s3.delete_public_access_block(Bucket=NAME)
    assert stage.play([bucket()]).changed == ["bucket"]
    assert s3.get_public_access_block(Bucket=NAME)["PublicAccessBlockConfiguration"][
        "BlockPublicPolicy"
    ]


def test_its_first_moment_already_carries_our_mark(stage: AwsStage) -> None:
    """Otherwise a run killed after the first call would leave a bucket no later run touches."""
    stage.aws.fault("error", service="s3", action="PutPublicAccessBlock", status=400, times=1)
    assert stage.play([bucket()]).code == 2
    tags = stage.aws.client("s3").get_bucket_tagging(Bucket=NAME)["TagSet"]
    assert {"Key": "playrunner:cluster", "Value": "demo"} in tags
    assert stage.play([bucket()]).code == 0
    assert stage.aws.client("s3").get_public_access_block(Bucket=NAME)


def test_one_that_holds_something_stays_until_it_may_be_emptied(stage: AwsStage) -> None:
    stage.play([bucket(versioning=True)])
    s3 = stage.aws.client("s3")
    for text in (b"one", b"two"):
        s3.put_object(Bucket=NAME, Key="model.pth", Body=text)
    s3.delete_object(Bucket=NAME, Key="model.pth")
    s3.create_multipart_upload(Bucket=NAME, Key="half")
    refused = stage.delete([bucket()])
    assert refused.code == 2 and "not empty" in refused.text
    assert len(s3.list_object_versions(Bucket=NAME)["Versions"]) == 2
    emptied = stage.delete([bucket(empty_on_delete=True)])
    assert emptied.code == 0, emptied.text
    assert names(stage.aws) == []


def test_many_objects_go_in_batches(stage: AwsStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playrunner.modules.aws._storage_bucket._BATCH", 3)
    stage.play([bucket()])
    s3 = stage.aws.client("s3")
    for number in range(8):
        s3.put_object(Bucket=NAME, Key=f"shard-{number}", Body=b"")
    assert stage.delete([bucket(empty_on_delete=True)]).code == 0
    assert len(stage.aws.calls("DeleteObjects")) == 3
    assert names(stage.aws) == []


def test_a_name_that_somebody_else_has_is_explained(stage: AwsStage) -> None:
    stage.aws.fault("deny", service="s3", action="GetBucketTagging,HeadBucket", code="AccessDenied")
    run = stage.play([bucket()])
    assert run.code == 2 and "belongs to another account" in run.messages


def test_one_to_be_kept_stays_unless_asked_for(stage: AwsStage) -> None:
    kept = {**bucket(), "keep": True}
    stage.play([kept])
    assert not stage.delete([kept], with_kept=False).gone
    assert names(stage.aws) == [NAME]
    assert stage.delete([kept], with_kept=True).code == 0
    assert names(stage.aws) == []
