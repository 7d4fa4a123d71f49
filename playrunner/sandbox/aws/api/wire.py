"""Requests read and answers written in the protocol of each service, driven by the service's own
model."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from xml.sax.saxutils import escape

from botocore.exceptions import UnknownServiceError
from moto.core.model import OperationModel
from moto.core.parse import PROTOCOL_PARSERS, RequestParserError
from moto.core.request import Request, determine_request_protocol
from moto.core.routing import ServiceOperationRouter
from moto.core.serialize import get_serializer_class
from moto.core.utils import get_service_model
from werkzeug.exceptions import HTTPException

from playrunner.sandbox.aws.api.aws_state import AwsState, Region

# The name in a request's signature, where boto3 calls the service by another.
SIGNED_AS = {
    "elasticfilesystem": "efs",
    "tagging": "resourcegroupstaggingapi",
    "servicequotas": "service-quotas",
    "monitoring": "cloudwatch",
    "api.ecr": "ecr",
}
PERMISSION_PREFIX = {
    "efs": "elasticfilesystem",
    "elbv2": "elasticloadbalancing",
    "elb": "elasticloadbalancing",
    "resourcegroupstaggingapi": "tag",
    "service-quotas": "servicequotas",
}
# Where the permission's name is not the call's.
PERMISSIONS = {
    "s3:HeadBucket": "s3:ListBucket",
    "s3:ListObjects": "s3:ListBucket",
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:ListObjectVersions": "s3:ListBucketVersions",
    "s3:ListBuckets": "s3:ListAllMyBuckets",
    "s3:ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "s3:HeadObject": "s3:GetObject",
    "s3:DeleteObjects": "s3:DeleteObject",
    "s3:GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "s3:PutBucketEncryption": "s3:PutEncryptionConfiguration",
    "s3:GetPublicAccessBlock": "s3:GetBucketPublicAccessBlock",
    "s3:PutPublicAccessBlock": "s3:PutBucketPublicAccessBlock",
    "s3:DeleteBucketTagging": "s3:PutBucketTagging",
    "s3:GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
    "s3:PutBucketLifecycleConfiguration": "s3:PutLifecycleConfiguration",
}
READING = (
    "Describe",
    "List",
    "Get",
    "Head",
    "BatchGet",
    "BatchCheck",
    "Lookup",
    "Search",
    "Simulate",
    "AssumeRole",
    "Filter",
)


class AwsError(Exception):
    """An error as the service words it."""

    def __init__(self, code: str, message: str, status: int = 400, **members: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status
        for name, value in members.items():
            setattr(self, name, value)


@dataclass(frozen=True)
class Reply:
    """What goes back over the connection."""

    status: int
    headers: dict[str, str]
    body: bytes
    error: str | None = None


@dataclass(frozen=True)
class Call:
    """One request, understood."""

    state: AwsState
    service: str
    action: str
    region_name: str
    params: dict[str, Any]
    operation: OperationModel | None = None
    protocol: str = "json"
    path: str = ""  # of the request, with its query: what a REST call is about
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def region(self) -> Region:
        return self.state.region(self.region_name)

    @property
    def mutating(self) -> bool:
        return not self.action.startswith(READING) and not self.dry_run

    @property
    def dry_run(self) -> bool:
        return self.service == "ec2" and bool(self.params.get("DryRun"))

    @property
    def permission(self) -> str:
        name = f"{PERMISSION_PREFIX.get(self.service, self.service)}:{self.action}"
        return PERMISSIONS.get(name, name)


def addressed(state: AwsState, request: Request) -> Call:
    """The service alone that a request is for, with none of it read but where it says so."""
    service, region = _addressee(request)
    try:
        protocol = _protocol(service)
    except UnknownServiceError:
        protocol = "json"
    return Call(state, service, "Unknown", region, {}, protocol=protocol)


def understood(state: AwsState, request: Request) -> Call:
    """Which service and action a request asks for, and with what."""
    service, region = _addressee(request)
    try:
        router = _router(service)
    except UnknownServiceError:
        return Call(state, service, "Unknown", region, {})
    try:
        operation, uri_params = router.match(request)
    except (HTTPException, NotImplementedError):
        return Call(state, service, "Unknown", region, {})
    protocol = determine_request_protocol(operation.service_model, request.content_type)
    opaque = service == "s3" and operation.name not in (
        "CreateBucket",
        "DeleteBucket",
    )  # bodies of S3 are mostly data
    params = {} if opaque else _params(request, operation, protocol, uri_params)
    path = str(request.full_path)
    return Call(state, service, str(operation.name), region, params, operation, protocol, path)


def written(call: Call, result: dict[str, Any]) -> Reply:
    """The answer of a call that went well."""
    assert call.operation is not None
    serializer = get_serializer_class(call.service, call.protocol)(operation_model=call.operation)
    parts = serializer.serialize(result)
    body = parts["body"]
    headers = {
        "x-amzn-RequestId": call.request_id,
        **{name: str(value) for name, value in parts["headers"].items()},
    }
    return Reply(
        int(parts["status_code"]), headers, body if isinstance(body, bytes) else str(body).encode()
    )


def complaint(call: Call, error: AwsError) -> Reply:
    """An error, in the shape that the client of this service expects."""
    protocol = call.operation.service_model.protocol if call.operation else call.protocol
    request_id = call.request_id
    if protocol in ("json", "rest-json"):
        members = {
            name: value
            for name, value in vars(error).items()
            if name not in ("code", "message", "status")
        }
        body = json.dumps(
            {"__type": error.code, "message": error.message, "Message": error.message, **members}
        )
        kind = {"Content-Type": "application/x-amz-json-1.1", "x-amzn-ErrorType": error.code}
    else:
        what = f"<Code>{error.code}</Code><Message>{escape(error.message)}</Message>"
        body = {
            "ec2": (
                f"<Response><Errors><Error>{what}</Error></Errors><RequestID>{request_id}</RequestID></Response>"
            ),
            "rest-xml": f"<Error>{what}<RequestId>{request_id}</RequestId></Error>",
        }.get(
            protocol,
            f"<ErrorResponse><Error><Type>Sender</Type>{what}</Error><RequestId>{request_id}</RequestId></ErrorResponse>",
        )
        kind = {"Content-Type": "text/xml"}
    return Reply(error.status, {"x-amzn-RequestId": request_id, **kind}, body.encode(), error.code)


def page(
    items: list[Any],
    params: dict[str, Any],
    key: str,
    size: str = "maxResults",
    token: str = "nextToken",
) -> dict[str, Any]:
    """One page of a listing, with the token of the next."""
    start, most = int(params.get(token) or 0), int(params.get(size) or 100)
    shown = items[start : start + most]
    following = {token: str(start + most)} if start + most < len(items) else {}
    return {key: shown, **following}


def _addressee(request: Request) -> tuple[str, str]:
    signed = request.headers.get("Authorization", "").split(",")[0].rpartition("Credential=")[2]
    scope = (signed or request.args.get("X-Amz-Credential", "")).split(
        "/"
    )  # the second: a signed URL
    if len(scope) == 5:
        region, name = scope[2], scope[3]
    else:
        name, region = ("sts" if request.values.get("Action") else "s3"), "us-east-1"
    if name == "elasticloadbalancing":
        return ("elbv2" if request.form.get("Version") == "2015-12-01" else "elb"), region
    return SIGNED_AS.get(name, name), region


@cache
def _protocol(service: str) -> str:
    return str(get_service_model(service).protocol)


@cache
def _router(service: str) -> ServiceOperationRouter:
    return ServiceOperationRouter(get_service_model(service))


def _params(
    request: Request, operation: OperationModel, protocol: str, uri_params: dict[str, Any]
) -> dict[str, Any]:
    asked: Any = {
        "method": request.method,
        "values": request.values,
        "headers": request.headers,
        "body": request.data,
        "url_path": request.path,
        "url_params": uri_params,
    }
    try:
        return dict(PROTOCOL_PARSERS[protocol](operation).parse(asked) or {})
    except RequestParserError as error:
        raise AwsError("SerializationException", str(error)) from error
