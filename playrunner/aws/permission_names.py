"""What policies call the permission for a call, where that is not the call's own name."""

from __future__ import annotations

_PREFIXES = {
    "efs": "elasticfilesystem",
    "elbv2": "elasticloadbalancing",
    "elb": "elasticloadbalancing",
    "resourcegroupstaggingapi": "tag",
    "service-quotas": "servicequotas",
}
_S3 = {
    "HeadBucket": "ListBucket",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "ListObjectVersions": "ListBucketVersions",
    "ListBuckets": "ListAllMyBuckets",
    "ListMultipartUploads": "ListBucketMultipartUploads",
    "HeadObject": "GetObject",
    "DeleteObjects": "DeleteObject",
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
    "DeleteBucketTagging": "PutBucketTagging",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
}


def permission(service: str, action: str) -> str:
    """The permission that a call needs: boto3's name of the service, AWS's of the call."""
    name = _S3.get(action, action) if service == "s3" else action
    return f"{_PREFIXES.get(service, service)}:{name}"
