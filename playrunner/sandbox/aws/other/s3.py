"""S3 tags a bucket in the call that makes it, and forgets the tags with the bucket; moto does
neither."""

from __future__ import annotations

from collections.abc import Callable

from moto.s3.models import s3_backends

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import Call, Reply


def create_bucket(call: Call, moto: Callable[[], Reply]) -> Reply:
    backend, name = s3_backends[ACCOUNT]["aws"], call.params["Bucket"]
    known = name in backend.buckets
    reply = moto()
    tags = (call.params.get("CreateBucketConfiguration") or {}).get("Tags") or []
    if tags and not known and not reply.error:
        backend.put_bucket_tagging(name, {tag["Key"]: tag["Value"] for tag in tags})
    return reply


def delete_bucket(call: Call, moto: Callable[[], Reply]) -> Reply:
    backend = s3_backends[ACCOUNT]["aws"]
    bucket = backend.buckets.get(call.params["Bucket"])
    reply = moto()
    if bucket is not None and not reply.error:
        backend.tagger.delete_all_tags_for_resource(bucket.arn)
    return reply


AROUND = {"CreateBucket": create_bucket, "DeleteBucket": delete_bucket}
