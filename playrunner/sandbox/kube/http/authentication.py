"""Who may use this API: clients with its token, a token of a cloud or of a service account, or an
administrator's certificate."""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Any

from playrunner.sandbox.kube.http.cloud_tokens import CloudTokens
from playrunner.sandbox.kube.store.accounts import Accounts
from playrunner.sandbox.kube.wire.messages import Request

ADMINISTRATORS = "system:masters"
_OPEN = (
    "/healthz",
    "/livez",
    "/readyz",
)  # as everywhere, anybody may ask whether it is well, and which version it is
_VERSION = ("/version", "/version/")


class Authentication:
    """Of one API."""

    def __init__(self, folder: Path, accounts: Accounts) -> None:
        """`folder` has the API's token; the clouds of its sandbox are beside it."""
        self._token = (folder / "token").read_bytes().strip()
        self._clouds, self._accounts = CloudTokens(folder.parent), accounts

    def lets_in(self, request: Request) -> bool:
        return is_open(request.path) or self.knows(request)

    def knows(self, request: Request) -> bool:
        """Whether it shows who asks."""
        if ADMINISTRATORS in request.groups:
            return True
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        return kind == "Bearer" and self.knows_token(token)

    def knows_token(self, token: str) -> bool:
        own = hmac.compare_digest(token.encode(errors="replace"), self._token)
        return own or self._clouds.knows(token) or self._accounts.knows(token)

    def account(self, request: Request) -> tuple[str, str] | None:
        """The service account that asks; None for all others."""
        _, _, token = request.headers.get("Authorization", "").partition(" ")
        return self._accounts.owner(token) if token.count(".") == 2 else None


def is_open(path: str) -> bool:
    return path in _VERSION or path in _OPEN or path.startswith(tuple(f"{one}/" for one in _OPEN))


def groups_of(certificate: dict[str, Any] | None) -> tuple[str, ...]:
    """The groups that a client's certificate names, once TLS has found it to be our authority's."""
    parts = (certificate or {}).get("subject", ())
    return tuple(value for part in parts for name, value in part if name == "organizationName")
