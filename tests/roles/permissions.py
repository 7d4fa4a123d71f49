"""docs/aws-permissions.md: the exact policy an operator needs, from the calls that a rehearsal of everything made.

`python -m tests.roles.permissions CALLS.json` writes the page from recorded calls; a test compares the page with those of its
own run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "aws-permissions.md"

# A service that is handed a role checks that the caller may hand it on; that is no call of its own, so no record shows it.
_PASSES_ROLE = {"eks:CreateCluster", "eks:CreateNodegroup", "eks:CreateAddon", "eks:CreatePodIdentityAssociation",
                "ec2:RunInstances", "iam:AddRoleToInstanceProfile"}
_NEEDED_BY_SERVICES = {  # what EKS, EFS and FSx do in the caller's name the first time they are used in an account
    "iam:CreateServiceLinkedRole": {"iam:AWSServiceName": [
        "eks.amazonaws.com", "eks-nodegroup.amazonaws.com", "elasticfilesystem.amazonaws.com", "fsx.amazonaws.com",
        "spot.amazonaws.com", "autoscaling.amazonaws.com"]}}


def needed(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """The permissions behind the calls, and those that services ask for on their own."""
    found = {str(call["permission"]) for call in calls if call.get("permission")}
    found.discard("sts:GetCallerIdentity")  # needs none
    if found & _PASSES_ROLE:
        found.add("iam:PassRole")
    return sorted(found)


def policy(permissions: Iterable[str], cluster: str = "CLUSTER", account: str = "ACCOUNT") -> dict[str, Any]:
    """A policy document: looking is allowed anywhere, changing in IAM only under names of ours."""
    names = list(permissions)
    looking = [name for name in names if name.split(":")[1].startswith(("Describe", "List", "Get", "Head"))]
    identity = [name for name in names if name.startswith("iam:") and name not in looking]
    changing = [name for name in names if name not in looking and name not in identity]
    ours = [f"arn:aws:iam::{account}:{kind}/{cluster}*" for kind in ("role", "policy", "instance-profile")]
    statements: list[dict[str, Any]] = [
        {"Sid": "Look", "Effect": "Allow", "Action": looking, "Resource": "*"},
        {"Sid": "Change", "Effect": "Allow", "Action": changing, "Resource": "*"},
        {"Sid": "ChangeIdentities", "Effect": "Allow", "Action": identity,
         "Resource": [*ours, f"arn:aws:iam::{account}:oidc-provider/oidc.eks.*"]}]
    for action, condition in _NEEDED_BY_SERVICES.items():
        statements.append({"Sid": "FirstUseOfServices", "Effect": "Allow", "Action": action, "Resource": "*",
                           "Condition": {"StringEquals": condition}})
    return {"Version": "2012-10-17", "Statement": statements}


def page(calls: Iterable[Mapping[str, Any]]) -> str:
    permissions = needed(calls)
    return f"""# What an operator needs in AWS

Made from the calls of a rehearsal of every AWS role in every variant, twice, with status, audit and teardown; a test fails when
it is out of date. {len(permissions)} permissions, no managed policy, nothing with `FullAccess`. Replace CLUSTER with your
`cluster_name` and ACCOUNT with your account; add a region condition (`aws:RequestedRegion`) to narrow it further.

Roles, policies and instance profiles carry names that begin with the cluster's, so changes in IAM are allowed there only.

```json
{json.dumps(policy(permissions), indent=2)}
```
"""


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(Path(sys.argv[1]).read_text())))
