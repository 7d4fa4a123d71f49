"""STS gives a role's credentials to a service account's token only if the role trusts it; moto gives them to anybody."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from moto.iam.models import iam_backends

from sandbox.aws.wire import AwsError, Call, Reply
from sandbox.aws.world import ACCOUNT

ACTION = "sts:AssumeRoleWithWebIdentity"


def assume_role_with_web_identity(call: Call, moto: Callable[[], Reply]) -> Reply:
    claims = _claims(str(call.params.get("WebIdentityToken") or ""))
    if float(claims.get("exp") or 0) < time.time():
        raise AwsError("ExpiredTokenException", "Token expired: current date/time must be before the expiration date/time")
    role = next((one for one in iam_backends[ACCOUNT]["aws"].roles.values() if one.arn == call.params["RoleArn"]), None)
    if role is None or not any(_allows(statement, claims) for statement in _statements(role.assume_role_policy_document)):
        raise AwsError("AccessDenied", f"Not authorized to perform {ACTION}", 403)
    return moto()


def _allows(statement: dict[str, Any], claims: dict[str, Any]) -> bool:
    """Whether a statement of a trust policy lets this token in: its provider is known, and its conditions hold."""
    provider = (statement.get("Principal") or {}).get("Federated", "")
    known = provider in iam_backends[ACCOUNT]["aws"].open_id_providers
    if statement.get("Effect") != "Allow" or ACTION not in _listed(statement.get("Action")) or not known:
        return False
    conditions = (statement.get("Condition") or {}).get("StringEquals") or {}
    return all(set(_listed(wanted)) & set(_listed(claims.get(name.rpartition(":")[2]))) for name, wanted in conditions.items())


def _statements(document: str) -> list[dict[str, Any]]:
    try:
        policy = json.loads(document)
    except ValueError:
        policy = json.loads(unquote(document))
    return _listed(policy.get("Statement"))


def _claims(token: str) -> dict[str, Any]:
    """What a token says; the pretend Kubernetes does not sign its own."""
    try:
        part = token.split(".")[1]
        found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, ValueError, binascii.Error):
        raise AwsError("InvalidIdentityToken", "The ID Token provided is not a valid JWT. (You may see this error if you sent an"
                       " Access Token)") from None
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


AROUND = {"AssumeRoleWithWebIdentity": assume_role_with_web_identity}
