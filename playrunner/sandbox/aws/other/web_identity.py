"""STS gives a role's credentials to a service account's token only if the role trusts it; moto
gives them to anybody."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import unquote

from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call
from playrunner.sandbox.http import jwt

ACTION = "sts:AssumeRoleWithWebIdentity"
PUBLIC_KEY = (
    "kube",
    "accounts.pub",
)  # in the sandbox's folder; the real STS gets it from the cluster's issuer
SECONDS = 3600


def assume_role_with_web_identity(call: Call) -> dict[str, Any]:
    """The one call without a signature. It never reaches moto, which would look at other parts of
    the request again."""
    claims = _claims(call, str(call.params.get("WebIdentityToken") or ""))
    if float(claims.get("exp") or 0) < time.time():
        raise AwsError(
            "ExpiredTokenException",
            "Token expired: current date/time must be before the expiration date/time",
        )
    role = next(
        (
            one
            for one in iam_backends[ACCOUNT]["aws"].roles.values()
            if one.arn == call.params["RoleArn"]
        ),
        None,
    )
    if role is None or not any(
        _allows(statement, claims) for statement in _statements(role.assume_role_policy_document)
    ):
        raise AwsError("AccessDenied", f"Not authorized to perform {ACTION}", 403)
    given = sts_backends[ACCOUNT]["aws"].assume_role(
        region_name=call.region_name,
        role_session_name=str(call.params["RoleSessionName"]),
        role_arn=role.arn,
        policy=str(call.params.get("Policy") or ""),
        duration=int(call.params.get("DurationSeconds") or SECONDS),
        external_id="",
    )
    keys = {
        "AccessKeyId": given.access_key_id,
        "SecretAccessKey": given.secret_access_key,
        "SessionToken": given.session_token,
        "Expiration": given.expiration,
    }
    return {
        "Credentials": keys,
        "SubjectFromWebIdentityToken": claims.get("sub", ""),
        "AssumedRoleUser": {"AssumedRoleId": given.user_id, "Arn": given.arn},
    }


def _allows(statement: dict[str, Any], claims: dict[str, Any]) -> bool:
    """Whether a statement of a trust policy lets this token in: its provider is known, and its
    conditions hold."""
    provider = (statement.get("Principal") or {}).get("Federated", "")
    known = provider in iam_backends[ACCOUNT]["aws"].open_id_providers
    if (
        statement.get("Effect") != "Allow"
        or ACTION not in _listed(statement.get("Action"))
        or not known
    ):
        return False
    conditions = (statement.get("Condition") or {}).get("StringEquals") or {}
    return all(
        set(_listed(wanted)) & set(_listed(claims.get(name.rpartition(":")[2])))
        for name, wanted in conditions.items()
    )


def _statements(document: str) -> list[dict[str, Any]]:
    try:
        policy = json.loads(document)
    except ValueError:
        policy = json.loads(unquote(document))
    return _listed(policy.get("Statement"))


def _claims(call: Call, token: str) -> dict[str, Any]:
    """What a token of the sandbox's cluster says."""
    try:
        return jwt.claims_of(token, call.state.root.joinpath(*PUBLIC_KEY))
    except OSError:
        raise AwsError(
            "InvalidIdentityToken", "No OpenIDConnect provider found in your account for this token"
        ) from None
    except jwt.BadToken:
        raise AwsError(
            "InvalidIdentityToken",
            "The ID Token provided is not a valid JWT, or its signature does not match"
            " the keys of its issuer",
        ) from None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


ANSWERS = {"AssumeRoleWithWebIdentity": assume_role_with_web_identity}
