"""What holds somebody's data is not emptied by a teardown that was not told to."""

from __future__ import annotations

from pathlib import Path

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
