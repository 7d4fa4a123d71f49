"""Which permissions the program needs: from every place in its code that calls AWS, and what
services ask of the caller besides."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from playrunner.sandbox.aws.api.wire import PERMISSION_PREFIX, PERMISSIONS

CODE = Path(__file__).parents[3] / "playrunner"
_SERVICES = {"service-quotas": "servicequotas"}
# Calls by name, and where service and operation stand among their arguments.
_CALLERS = {"call": 0, "read": 0, "listed": 1, "attempt": 1}

# What a service checks beside the call itself, by the permission of the call.
_BESIDES = {
    "eks:Create(Cluster|Nodegroup|Addon|PodIdentityAssociation)": ["iam:PassRole"],
    "ec2:RunInstances|iam:AddRoleToInstanceProfile": ["iam:PassRole"],
    "ec2:(Create(?!Route$|NetworkInterface$).*|AllocateAddress|RunInstances|ImportKeyPair)": [
        "ec2:CreateTags"
    ],
    # A node group with a launch template is started in the caller's name.
    "eks:CreateNodegroup": ["ec2:RunInstances", "iam:GetRole", "iam:ListAttachedRolePolicies"],
    "eks:Create.*": ["eks:TagResource"],
    "elasticfilesystem:Create.*": ["elasticfilesystem:TagResource"],
    "elasticfilesystem:CreateMountTarget": [
        "ec2:DescribeSubnets",
        "ec2:DescribeNetworkInterfaces",
        "ec2:CreateNetworkInterface",
    ],
    "elasticfilesystem:ModifyMountTargetSecurityGroups": ["ec2:ModifyNetworkInterfaceAttribute"],
    "elasticfilesystem:DeleteMountTarget": ["ec2:DeleteNetworkInterface"],
    "fsx:Create.*": ["fsx:TagResource"],
    "ecr:CreateRepository": ["ecr:TagResource"],
    "ecr:DeleteRepository": ["ecr:BatchDeleteImage"],
    # Images are pushed and pulled over Docker's protocol, with the token of this call.
    "ecr:GetAuthorizationToken": [
        "ecr:BatchCheckLayerAvailability",
        "ecr:BatchGetImage",
        "ecr:CompleteLayerUpload",
        "ecr:GetDownloadUrlForLayer",
        "ecr:InitiateLayerUpload",
        "ecr:PutImage",
        "ecr:UploadLayerPart",
    ],
    "logs:CreateLogGroup": ["logs:TagResource"],
    "s3:CreateBucket": ["s3:TagResource", "s3:PutBucketTagging"],
    "s3:DeleteObject": ["s3:DeleteObjectVersion"],
    "iam:CreateRole": ["iam:TagRole"],
    "iam:CreatePolicy": ["iam:TagPolicy"],
    "iam:CreateInstanceProfile": ["iam:TagInstanceProfile"],
    "iam:CreateOpenIDConnectProvider": ["iam:TagOpenIDConnectProvider"],
}


def needed() -> set[str]:
    """Every permission, as policies name it."""
    found = {permission(service, action) for service, action in calls()}
    found.discard("sts:GetCallerIdentity")  # needs none
    while more := {also for name in found for also in besides(name)} - found:
        found |= more
    return found


def besides(name: str) -> list[str]:
    return [
        also for because, more in _BESIDES.items() if re.fullmatch(because, name) for also in more
    ]


def permission(service: str, action: str) -> str:
    name = f"{PERMISSION_PREFIX.get(service, service)}:{action}"
    return PERMISSIONS.get(name, name)


@cache
def calls() -> frozenset[tuple[str, str]]:
    """Service and action, as AWS spells it, of every call in the program."""
    return frozenset(
        (service, action)
        for path in sorted(CODE.rglob("*.py"))
        if "sandbox" not in path.parts and "aws" in (text := path.read_text())
        for service, action in _calls_of(ast.parse(text))
    )


def _calls_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
        start = _CALLERS.get(name)
        given = node.args[start : start + 2] if start is not None else []
        if len(given) < 2 or not isinstance(given[0], ast.Constant):
            continue
        service = str(given[0].value)
        actions = _actions(service)
        if not actions:  # of another cloud, or no service at all
            continue
        if isinstance(given[1], ast.Constant):
            yield service, actions[str(given[1].value)]
        else:  # chosen while the program runs: whatever of the file's texts is an operation
            for pattern in _patterns(tree):
                yield from (
                    (service, action)
                    for operation, action in actions.items()
                    if re.fullmatch(pattern, operation)
                )


def _patterns(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = [
                re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+"
                for part in node.values
            ]
            if len(parts[0]) > len("create_"):  # not every text that begins with a value
                yield "".join(parts)


@cache
def _actions(service: str) -> dict[str, str]:
    """An API's operations, by the names that Python has for them."""
    import botocore.session
    from botocore import xform_name
    from botocore.exceptions import UnknownServiceError

    try:
        model = botocore.session.get_session().get_service_model(service)
    except UnknownServiceError:
        return {}
    return {xform_name(name): str(name) for name in model.operation_names}
