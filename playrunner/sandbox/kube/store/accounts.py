"""Tokens of service accounts: signed with the cluster's own key, and known again by it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playrunner.sandbox.http import jwt

ISSUER = "https://kubernetes.default.svc"
KEY = "accounts.key"


class Accounts:
    """Gives tokens out for one API."""

    def __init__(self, folder: Path, uid_of: Callable[[str, str], str | None]) -> None:
        """`folder` has the key; `uid_of` gives that of a service account by its namespace and
        name."""
        self._key, self._uid_of = folder / KEY, uid_of
        self._public = self._key.with_suffix(".pub")

    def token(self, namespace: str, name: str, seconds: int, audiences: list[str]) -> str:
        if not self._key.exists():
            from playrunner.sandbox.kube.wire import (
                certificates,
            )  # slow to load, and only needed once

            certificates.signing_key(self._key)
        now, account = int(time.time()), {"name": name, "uid": self._uid_of(namespace, name)}
        return jwt.signed(
            {
                "iss": ISSUER,
                "sub": f"system:serviceaccount:{namespace}:{name}",
                "aud": audiences or [ISSUER],
                "iat": now,
                "nbf": now,
                "exp": now + seconds,
                "kubernetes.io": {"namespace": namespace, "serviceaccount": account},
            },
            self._key,
        )

    def knows(self, token: str) -> bool:
        """Whether it is one of ours for this API, still holds, and its account is still there."""
        return self.owner(token) is not None

    def owner(self, token: str) -> tuple[str, str] | None:
        """The namespace and name of the account of a token that `knows` lets in."""
        try:
            claims: dict[str, Any] = jwt.claims_of(token, self._public)
        except (OSError, jwt.BadToken):
            return None
        inner = claims["kubernetes.io"]
        account = inner["serviceaccount"]
        holds = claims["nbf"] <= time.time() < claims["exp"] and ISSUER in claims["aud"]
        there = (
            holds
            and account["uid"]
            and self._uid_of(inner["namespace"], account["name"]) == account["uid"]
        )
        return (str(inner["namespace"]), str(account["name"])) if there else None
