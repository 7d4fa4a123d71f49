"""What a call is about, as policies for single things name it."""

from __future__ import annotations

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import Call


def about(call: Call) -> str:
    """The ARN of the thing of IAM that a change is about."""
    params = call.params
    if call.service != "iam" or not call.mutating:
        return ""
    for name in ("OpenIDConnectProviderArn", "PolicyArn"):
        if params.get(name) and not params.get("RoleName"):
            return str(params[name]).replace(ACCOUNT, "ACCOUNT")
    for name, kind in (
        ("RoleName", "role"),
        ("InstanceProfileName", "instance-profile"),
        ("PolicyName", "policy"),
    ):
        if params.get(name):
            return f"arn:aws:iam::ACCOUNT:{kind}/{params[name]}"
    return ""
