"""docs/aws-permissions.md: the exact policy an operator needs, from the calls that tests of all AWS
roles and modules made.

Every such test compares its calls with the page; with PLAYRUNNER_WRITE_DOCS=1 it adds what is
missing instead. Remove the page first to write it anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "aws-permissions.md"

# What a service checks beside the call itself: that the caller may hand a role on, and may write
# the marks it gives.
_ASKED_BESIDES = {
    "eks:Create(Cluster|Nodegroup|Addon|PodIdentityAssociation)": "iam:PassRole",
    "ec2:RunInstances|iam:AddRoleToInstanceProfile": "iam:PassRole",
    "ec2:(Create.*|AllocateAddress|RunInstances)": "ec2:CreateTags",
    "eks:Create.*": "eks:TagResource",
    "elasticfilesystem:Create.*": "elasticfilesystem:TagResource",
    "fsx:Create.*": "fsx:TagResource",
    "ecr:CreateRepository": "ecr:TagResource",
    "logs:CreateLogGroup": "logs:TagResource",
    "s3:CreateBucket": "s3:TagResource",
    "iam:CreateRole": "iam:TagRole",
    "iam:CreatePolicy": "iam:TagPolicy",
    "iam:CreateInstanceProfile": "iam:TagInstanceProfile",
    "iam:CreateOpenIDConnectProvider": "iam:TagOpenIDConnectProvider",
}
# What EKS, EFS and FSx do in the caller's name the first time they are used in an account
_NEEDED_BY_SERVICES = {
    "iam:CreateServiceLinkedRole": {
        "iam:AWSServiceName": [
            "eks.amazonaws.com",
            "eks-nodegroup.amazonaws.com",
            "elasticfilesystem.amazonaws.com",
            "fsx.amazonaws.com",
            "spot.amazonaws.com",
            "autoscaling.amazonaws.com",
        ]
    }
}


def check(calls: Iterable[Mapping[str, Any]]) -> None:
    """Fail when a call of ours needs what the page does not list."""
    written = (
        set(re.findall(r'^ +"([a-z0-9-]+:\w+)"', PAGE.read_text(), re.MULTILINE))
        if PAGE.is_file()
        else set()
    )
    missing = needed(calls) - written
    if missing and os.environ.get("PLAYRUNNER_WRITE_DOCS"):
        PAGE.write_text(page(written | missing))
    else:
        assert not missing, (
            f"not in docs/aws-permissions.md: {sorted(missing)}; see {Path(__file__).name}"
        )


def needed(calls: Iterable[Mapping[str, Any]]) -> set[str]:
    """The permissions behind our own calls, and those that services ask for besides."""
    found = {
        str(call["permission"])
        for call in calls
        if "playrunner" in call["agent"] and not call["error"]
    }
    found.discard("sts:GetCallerIdentity")  # needs none
    for because, also in _ASKED_BESIDES.items():
        found |= {also} if any(re.fullmatch(because, name) for name in found) else set()
    return found


def policy(
    permissions: Iterable[str], cluster: str = "CLUSTER", account: str = "ACCOUNT"
) -> dict[str, Any]:
    """A policy document: looking is allowed anywhere, changing in IAM only under names of ours."""
    names = list(permissions)
    looking = [
        name for name in names if name.split(":")[1].startswith(("Describe", "List", "Get", "Head"))
    ]
    identity = [name for name in names if name.startswith("iam:") and name not in looking]
    changing = [name for name in names if name not in looking and name not in identity]
    ours = [
        f"arn:aws:iam::{account}:{kind}/{cluster}*"
        for kind in ("role", "policy", "instance-profile")
    ]
    statements: list[dict[str, Any]] = [
        {"Sid": "Look", "Effect": "Allow", "Action": looking, "Resource": "*"},
        {"Sid": "Change", "Effect": "Allow", "Action": changing, "Resource": "*"},
        {
            "Sid": "ChangeIdentities",
            "Effect": "Allow",
            "Action": identity,
            "Resource": [*ours, f"arn:aws:iam::{account}:oidc-provider/oidc.eks.*"],
        },
    ]
    for action, condition in _NEEDED_BY_SERVICES.items():
        statements.append(
            {
                "Sid": "FirstUseOfServices",
                "Effect": "Allow",
                "Action": action,
                "Resource": "*",
                "Condition": {"StringEquals": condition},
            }
        )
    return {"Version": "2012-10-17", "Statement": statements}


def page(permissions: Iterable[str]) -> str:
    names = sorted(permissions)
    return f"""# What an operator needs in AWS

From the calls that the tests of every AWS role and module made, in every variant, with status,
audit and teardown; a test fails when a call is not covered. {len(names)} permissions, no managed
policy, nothing with `FullAccess`. Replace CLUSTER with your `cluster_name` and ACCOUNT with your
account; add a region condition (`aws:RequestedRegion`) to narrow it further.

Roles, policies and instance profiles carry names that begin with the cluster's, so changes in IAM
are allowed there only.

```json
{json.dumps(policy(names), indent=2)}
```
"""
