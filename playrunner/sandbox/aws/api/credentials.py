"""Whose keys open the pretend AWS: the operator's, those of IAM users, and those that STS gives out
for a while."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import SystemRandom
from typing import Any

from moto.iam.models import iam_backends
from moto.moto_api._internal import mock_random
from moto.moto_api._internal.moto_random import MotoRandom
from moto.sts.models import sts_backends

from playrunner.sandbox.aws.api import keys
from playrunner.sandbox.aws.api.wire import AwsError, Call

SESSION_SECONDS = 43200
_PARTITION = "aws"


@dataclass(frozen=True)
class Credential:
    """A key's secret; that of a session also has a token and an expiry."""

    secret: str
    session_token: str = ""
    until: datetime | None = None

    @property
    def expired(self) -> bool:
        return self.until is not None and self.until < datetime.now(UTC)


class Credentials:
    """All keys that are valid at this moment."""

    def __init__(self, key_id: str, secret: str) -> None:
        """Those of the operator, who started the sandbox."""
        self._operator = key_id, Credential(secret)

    def find(self, state: Any, key_id: str) -> Credential | None:
        if key_id == self._operator[0]:
            return self._operator[1]
        known: Credential | None = state.sessions.get(key_id)
        return known or _of_role(key_id) or _of_user(key_id)


def _of_role(key_id: str) -> Credential | None:
    for account in list(sts_backends.values()):
        role = account[_PARTITION].get_assumed_role_from_access_key(key_id)
        if role is not None:
            until = (
                role.expiration.replace(tzinfo=UTC)
                if role.expiration.tzinfo is None
                else role.expiration
            )
            return Credential(role.secret_access_key, role.session_token, until)
    return None


def _of_user(key_id: str) -> Credential | None:
    for account in list(iam_backends.values()):
        key = account[_PARTITION].access_keys.get(key_id)
        if key is not None and key.user_name and key.status == "Active":
            return Credential(key.secret_access_key)
    return None


def get_session_token(call: Call) -> dict[str, Any]:
    """Keys of the caller's own for a while; moto gives everybody the same ones."""
    until = datetime.now(UTC) + timedelta(
        seconds=int(call.params.get("DurationSeconds") or SESSION_SECONDS)
    )
    made = Credential(secrets.token_urlsafe(30), secrets.token_urlsafe(96), until)
    key_id = keys.name("ASIA")
    call.state.sessions[key_id] = made
    return {
        "Credentials": {
            "AccessKeyId": key_id,
            "SecretAccessKey": made.secret,
            "SessionToken": made.session_token,
            "Expiration": until,
        }
    }


def not_given_out(call: Call) -> dict[str, Any]:
    """moto gives these to everybody, unsigned or with keys that are the same everywhere."""
    raise AwsError(
        "NotImplemented",
        f"the sandbox does not do sts:{call.action}; use AssumeRole or GetSessionToken",
        501,
    )


class _FromSystem(MotoRandom):
    """Random numbers of which no earlier one tells the next."""

    random = SystemRandom.random  # type: ignore[assignment]
    getrandbits = SystemRandom.getrandbits  # type: ignore[assignment]


def make_moto_unpredictable() -> None:
    """Have moto draw its keys, and everything else, from the system."""
    mock_random.__class__ = _FromSystem


ANSWERS = {
    "GetSessionToken": get_session_token,
    **dict.fromkeys(("GetFederationToken", "AssumeRoleWithSAML", "AssumeRoot"), not_given_out),
}
