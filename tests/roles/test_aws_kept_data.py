"""What holds somebody's data is not emptied by a teardown that was not told to."""

from __future__ import annotations

from pathlib import Path

from playrunner.aws import contents
from playrunner.cloud.owner import EXPIRES, KEEP
from tests.support.aws.cli import Operator
from tests.support.aws.sandbox import PretendAws


def test_a_bucket_with_something_in_it_outlives_every_teardown_that_does_not_say_otherwise(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    operator, s3 = Operator(aws, tmp_path, (str(inventory),)), aws.client("s3")
    assert operator.invoke("bucket.create").code == 0
    (bucket,) = [one["Name"] for one in s3.list_buckets()["Buckets"]]
    s3.put_object(Bucket=bucket, Key="model", Body=b"a month of training")

    said = operator.invoke("teardown", "--with-kept", "--yes")
    text = said.out + said.err
    assert said.code == 7 and "is not empty" in text and bucket in text, text
    assert [one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["model"]

    told = operator.invoke(
        "teardown", "--with-kept", "--yes", "--extra-vars", "bucket_empty_on_delete=true"
    )
    assert told.code == 0, told.out + told.err
    assert s3.list_buckets()["Buckets"] == []


def test_a_kept_bucket_whose_name_changed_is_not_emptied_by_the_sweep(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    operator, s3 = Operator(aws, tmp_path, (str(inventory),)), aws.client("s3")
    named = ("--extra-vars", "bucket_name=models-2025")
    assert operator.invoke("bucket.create", *named).code == 0
    s3.put_object(Bucket="models-2025", Key="model", Body=b"a month of training")
    later = ("--extra-vars", "bucket_name=models-2026")

    said = operator.invoke("teardown", "--yes", *later)
    text = said.out + said.err
    assert said.code == 0 and "models-2025" in text and "except what is kept" in text, text
    assert "1 object" in text, text
    assert [one["Key"] for one in s3.list_objects_v2(Bucket="models-2025")["Contents"]] == ["model"]

    told = operator.invoke("teardown", "--yes", "--with-kept", *later)
    assert told.code == 0, told.out + told.err
    assert s3.list_buckets()["Buckets"] == []


def test_what_holds_something_is_not_swept_even_when_nothing_says_to_keep_it(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    operator, s3 = Operator(aws, tmp_path, (str(inventory),)), aws.client("s3")
    flags = ("--extra-vars", "bucket_name=models-2025", "--extra-vars", "bucket_keep=false")
    assert operator.invoke("bucket.create", *flags).code == 0
    s3.put_object(Bucket="models-2025", Key="model", Body=b"a month of training")

    said = operator.invoke("teardown", "--yes")
    assert said.code == 7 and "holds 1 object" in said.out, said.out + said.err
    assert [one["Key"] for one in s3.list_objects_v2(Bucket="models-2025")["Contents"]] == ["model"]


def test_a_kept_bucket_outlives_its_time(aws: PretendAws, inventory: Path, tmp_path: Path) -> None:
    operator, s3 = Operator(aws, tmp_path, (str(inventory),)), aws.client("s3")
    assert operator.invoke("bucket.create", "--ttl", "8h").code == 0
    (bucket,) = [one["Name"] for one in s3.list_buckets()["Buckets"]]
    tags = s3.get_bucket_tagging(Bucket=bucket)["TagSet"]
    for tag in tags:
        if tag["Key"] == EXPIRES:
            tag["Value"] = "2020-01-01T00:00:00Z"
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags})

    said = operator.invoke("teardown", "--expired", "--yes")
    assert said.code == 0 and bucket in said.out and "keep" in said.out, said.out + said.err
    assert [one["Name"] for one in s3.list_buckets()["Buckets"]] == [bucket]

    assert operator.invoke("teardown", "--expired", "--with-kept", "--yes").code == 0
    assert s3.list_buckets()["Buckets"] == []


def test_how_much_is_in_a_file_system_is_told() -> None:
    assert contents.elastic_file_system({"SizeInBytes": {"Value": 3 * 2**30}}) == "holds 3.0 GiB"
    assert contents.elastic_file_system({"SizeInBytes": {"Value": 0}}) == ""
    assert contents.lustre({"StorageCapacity": 1200}) == "holds up to 1200 GiB"


def test_a_kept_file_system_says_so_on_itself(
    aws: PretendAws, inventory: Path, tmp_path: Path
) -> None:
    operator, efs = Operator(aws, tmp_path, (str(inventory),)), aws.client("efs")
    assert operator.invoke("efs.create").code == 0
    (before,) = efs.describe_file_systems()["FileSystems"]
    assert KEEP not in {tag["Key"] for tag in before["Tags"]}
    kept = ("--extra-vars", "efs_keep=true")
    assert operator.invoke("efs.create", *kept).code == 0
    (system,) = efs.describe_file_systems()["FileSystems"]
    assert {tag["Key"]: tag["Value"] for tag in system["Tags"]}[KEEP] == "true"

    plan = operator.invoke("teardown", "--check", *kept)
    assert "keep    efs : efs file system" in plan.out, plan.out
    # The inventory says nothing of it any more: its own tag does.
    said = operator.invoke("teardown", "--yes", "--extra-vars", "efs_name=other")
    assert said.code == 0 and "except what is kept" in said.out, said.out + said.err
    assert [one["FileSystemId"] for one in efs.describe_file_systems()["FileSystems"]] == [
        system["FileSystemId"]
    ]
    assert operator.invoke("teardown", "--yes", "--with-kept").code == 0
    assert efs.describe_file_systems()["FileSystems"] == []
