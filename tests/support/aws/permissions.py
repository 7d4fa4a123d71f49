"""docs/aws-permissions.md: the policies an operator needs, derived from every call in the code;
tests hold every call that they make against them.

With PLAYRUNNER_WRITE_DOCS=1 the page is written anew instead of compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.aws import permissions_derived as derived
from tests.support.aws.permissions_simulator import allowed

PAGE = Path(__file__).parents[3] / "docs" / "aws-permissions.md"
MOST_CHARACTERS = 6144  # of a managed policy, white space not counted
OUR_TAG = "playrunner:cluster"
_READING = ("Describe", "List", "Get", "Head", "BatchGet", "BatchCheck")
# What makes a thing, or works on things of which only the maker knows whose they are.
_MAKING = ("Create", "Allocate", "RunInstances", "ImportKeyPair")
# Made by services and by the cluster's controllers: no tag of ours is on them.
_OF_CONTROLLERS = (
    "ec2:DeleteNetworkInterface",
    "ec2:CreateNetworkInterface",
    "ec2:ModifyNetworkInterfaceAttribute",
    "ec2:DeleteSecurityGroup",
    "ec2:RevokeSecurityGroupIngress",
    "ec2:RevokeSecurityGroupEgress",
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:DeleteVolume",
    "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteTargetGroup",
)
_ECR_PUSH = ("BatchCheck", "BatchGet", "Complete", "GetDownload", "Initiate", "PutImage", "Upload")
PASSED_TO = ["eks.amazonaws.com", "ec2.amazonaws.com", "pods.eks.amazonaws.com"]
ATTACHED = [
    "AmazonEKSClusterPolicy",
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryReadOnly",
    "AmazonSSMManagedInstanceCore",
]
_FIRST_USE = [
    "autoscaling.amazonaws.com",
    "eks-nodegroup.amazonaws.com",
    "eks.amazonaws.com",
    "elasticfilesystem.amazonaws.com",
    "fsx.amazonaws.com",
    "s3.data-source.lustre.fsx.amazonaws.com",
    "spot.amazonaws.com",
]


def check(calls: Iterable[Mapping[str, Any]], cluster: str = "") -> None:
    """Fail when a call of ours is not allowed by the policies of the page. With `cluster`, things
    of IAM must also have names of that cluster, as roles give them."""
    documents = list(policies(cluster or "CLUSTER").values())
    made = {
        (str(call["permission"]), str((cluster and call.get("resource")) or "*"))
        for call in calls
        if "playrunner" in call["agent"] and not call["error"]
    }
    denied = sorted(
        name
        for name, resource in made
        if name != "sts:GetCallerIdentity" and not allowed(documents, name, resource)
    )
    assert not denied, f"docs/aws-permissions.md does not allow {denied}"


def policies(
    cluster: str = "CLUSTER", account: str = "ACCOUNT", bucket: str = "BUCKET"
) -> dict[str, dict[str, Any]]:
    """The policies by name, each small enough for AWS."""
    names = sorted(derived.needed())
    looking = [name for name in names if _action(name).startswith(_READING)]
    rest = [name for name in names if name not in looking]
    ours = {"StringEquals": {f"aws:ResourceTag/{OUR_TAG}": cluster}}
    machines = [name for name in rest if name.startswith(("ec2:", "elasticloadbalancing:"))]
    services = [
        name for name in rest if not name.startswith(("ec2:", "elasticloadbalancing:", "iam:"))
    ]
    buckets = [name for name in services if name.startswith("s3:")]
    pushing = [
        name for name in names if name.startswith("ecr:") and _action(name).startswith(_ECR_PUSH)
    ]
    lease = [name for name in services if name.startswith("ssm:")]
    free = [name for name in services if name not in (*buckets, *pushing, *lease)]
    tags = [name for name in machines if name == "ec2:CreateTags"]
    making = [name for name in machines if _makes(name) and name not in (*tags, *_OF_CONTROLLERS)]
    return {
        "look": _document(_statement("Look", looking, "*")),
        "machines": _document(
            _statement("Make", making, "*"),
            _statement(
                "TagWhatIsMade",
                tags,
                "*",
                {"StringEquals": {"ec2:CreateAction": [_action(name) for name in making]}},
            ),
            _statement(
                "ChangeOurs",
                sorted({*machines} - {*making, *_OF_CONTROLLERS}),
                "*",
                ours,
            ),
            _statement("WhatControllersLeave", list(_OF_CONTROLLERS), "*"),
        ),
        "services": _document(
            _statement("Make", [name for name in free if _makes(name)], "*"),
            _statement("TagWhatIsMade", _tagging(free), "*", _requested(cluster)),
            _statement("ChangeOurs", [name for name in free if not _makes(name)], "*", ours),
            _statement(
                "PushImages",
                pushing,
                f"arn:aws:ecr:*:{account}:repository/*",
                ours,
            ),
            _statement(
                "Lease", lease, f"arn:aws:ssm:*:{account}:parameter/playrunner/{cluster}/lease"
            ),
            _statement("Bucket", buckets, [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"]),
        ),
        "identities": _document(*_identities(rest, cluster, account, ours)),
    }


def _identities(
    rest: list[str], cluster: str, account: str, ours: dict[str, Any]
) -> Iterable[dict[str, Any]]:
    """IAM: only names of ours with our tag, only policies that are known, only to services that
    need them."""
    names = [name for name in rest if name.startswith("iam:")]
    prefix = f"arn:aws:iam::{account}"
    kinds = [f"{prefix}:{kind}/{cluster}-*" for kind in ("role", "policy", "instance-profile")]
    every = [*kinds, f"{prefix}:oidc-provider/oidc.eks.*"]
    making = [name for name in names if name != "iam:CreatePolicyVersion" and _makes(name)]
    attach = ["iam:AttachRolePolicy", "iam:DetachRolePolicy"]
    apart = [*making, *attach, "iam:PassRole"]
    yield _statement("Make", [*making, *_tagging(names)], every, _requested(cluster))
    yield _statement("ChangeOurs", [name for name in names if name not in apart], every, ours)
    attached = [f"arn:aws:iam::aws:policy/{name}" for name in ATTACHED]
    known = {"ArnLike": {"iam:PolicyARN": [*attached, f"{prefix}:policy/{cluster}-*"]}}
    yield _statement("AttachKnownPolicies", attach, kinds[0], {**ours, **known})
    yield _statement(
        "PassRoles",
        ["iam:PassRole"],
        kinds[0],
        {"StringEquals": {"iam:PassedToService": PASSED_TO}},
    )
    yield _statement(
        "FirstUseOfServices",
        ["iam:CreateServiceLinkedRole"],
        "*",
        {"StringEquals": {"iam:AWSServiceName": _FIRST_USE}},
    )


def _action(name: str) -> str:
    return name.partition(":")[2]


def _makes(name: str) -> bool:
    return _action(name).startswith(_MAKING)


def _tagging(names: Iterable[str]) -> list[str]:
    return [name for name in names if _action(name).startswith("Tag")]


def _requested(cluster: str) -> dict[str, Any]:
    return {"StringEquals": {f"aws:RequestTag/{OUR_TAG}": cluster}}


def _statement(
    sid: str,
    actions: list[str],
    resource: str | list[str],
    condition: dict[str, Any] | None = None,
) -> dict[str, Any]:
    statement = {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource}
    return {**statement, "Condition": condition} if condition else statement


def _document(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def characters(document: Mapping[str, Any]) -> int:
    return len(json.dumps(document, separators=(",", ":")))


_ABOUT = {
    "look": "Reading, anywhere: status, check, audit and preflight need no other.",
    "machines": "EC2 and load balancers. What is made is tagged in the same call; later changes are"
    " allowed only on what has the tag. Interfaces, groups and load balancers that services and the"
    " cluster's controllers make have no tag of ours: teardown deletes what they leave.",
    "services": "EKS, EFS, FSx, ECR, CloudWatch Logs and S3, and the lease by which runs take turns"
    " (a parameter of Systems Manager). BUCKET is `bucket_name`.",
    "identities": "IAM. Names begin with the cluster's and a dash; only the managed policies that"
    " the roles use can be attached, roles can be handed only to the services that need them.",
}


_INTRODUCTION = """\
Four policies, {count} permissions, nothing with `FullAccess`; each is smaller than the {most}
characters that AWS takes. They are derived from every call in the code, with what services ask of
the caller besides; tests hold every call they make against them. Replace CLUSTER with your
`cluster_name`, ACCOUNT with your account and BUCKET with your `bucket_name`; add a region condition
(`aws:RequestedRegion`) to narrow them further. They have not been tried in a real account.

With `aws_permissions_boundary` (the ARN of a policy) in the inventory every role is made with that
boundary; add `"StringEquals": {{"iam:PermissionsBoundary": "ARN"}}` to the conditions of `Make` in
*identities*, so that no other can be made. Service accounts and pod identities with policies of
your own need those policies in `AttachKnownPolicies`."""


def page() -> str:
    parts = [
        f"## {name}\n\n{_ABOUT[name]}\n\n```json\n{json.dumps(document, indent=2)}\n```\n"
        for name, document in policies().items()
    ]
    count = len(derived.needed())
    return f"""# What an operator needs in AWS

{_INTRODUCTION.format(count=count, most=MOST_CHARACTERS)}

{chr(10).join(parts)}"""
