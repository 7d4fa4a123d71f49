"""IAM refuses to delete a policy that is still attached, and its users are IAM's; in moto both are
otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from moto.iam.models import iam_backends

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call, Reply


def delete_policy(call: Call, moto: Callable[[], Reply]) -> Reply:
    policy = iam_backends[ACCOUNT]["aws"].managed_policies.get(call.params["PolicyArn"])
    if policy is not None and policy.attachment_count:
        raise AwsError("DeleteConflict", "Cannot delete a policy attached to entities.", 409)
    if policy is not None and len(policy.versions) > 1:
        said = (
            "This policy has more than one version. Before you delete a policy, you must delete the"
            " policy's versions."
        )
        raise AwsError("DeleteConflict", said, 409)
    return moto()


def check_trust(call: Call, moto: Callable[[], Reply]) -> Reply:
    name = "PolicyDocument" if call.action == "UpdateAssumeRolePolicy" else _TRUST
    try:
        statements = json.loads(call.params[name])["Statement"]
    except (ValueError, TypeError, KeyError):
        raise AwsError("MalformedPolicyDocument", "This policy contains invalid Json") from None
    for statement in statements if isinstance(statements, list) else [statements]:
        if not isinstance(statement, dict) or statement.get("Effect") not in ("Allow", "Deny"):
            raise AwsError("MalformedPolicyDocument", "Syntax errors in policy: Effect")
        actions = statement.get("Action") or []
        for action in [actions] if isinstance(actions, str) else actions:
            if not action.startswith("sts:"):
                raise AwsError(
                    "MalformedPolicyDocument",
                    "AssumeRole policy may only specify STS AssumeRole actions.",
                )
        if not actions or "Principal" not in statement or "Resource" in statement:
            raise AwsError(
                "MalformedPolicyDocument",
                "A trust policy has an action and a principal, and no resource.",
            )
    return moto()


def get_caller_identity(call: Call, moto: Callable[[], Reply]) -> Reply:
    """The same user that EKS lets in as a cluster's creator, in the form that IAM has for users."""
    reply = moto()
    moto_user = f"arn:aws:sts::{ACCOUNT}:user/moto".encode()
    body = reply.body.replace(moto_user, USER.encode())
    headers = {
        name: value for name, value in reply.headers.items() if name.lower() != "content-length"
    }
    return replace(reply, headers={**headers, "Content-Length": str(len(body))}, body=body)


USER = f"arn:aws:iam::{ACCOUNT}:user/sandbox"
_TRUST = "AssumeRolePolicyDocument"
AROUND = {
    "DeletePolicy": delete_policy,
    "CreateRole": check_trust,
    "UpdateAssumeRolePolicy": check_trust,
}
AROUND_STS = {"GetCallerIdentity": get_caller_identity}
