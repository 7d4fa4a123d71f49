"""Who may come in: tokens for the sandbox's service account, by its signed request, and for another
one in its name."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from playrunner.sandbox.gcp.messages import Call, GcpError
from playrunner.sandbox.http import jwt

HOLDS_SECONDS = 3600
START = "ya29.sandbox"


class Entrance:
    """Gives tokens and knows them again: each says until when it holds, and is sealed with this
    sandbox's secret."""

    def __init__(self, folder: Path) -> None:
        """`folder` has the secret, and the public key of the service account."""
        self._folder = folder

    @property
    def _secret(self) -> bytes:
        return (self._folder / "secret").read_bytes().strip()

    def token(self, who: str, until: float) -> str:
        name = base64.urlsafe_b64encode(who.encode()).decode().rstrip("=")
        words = f"{START}.{name}.{int(until)}"
        return f"{words}.{self._seal(words)}"

    def knows(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        words, _, seal = token.rpartition(".")
        if kind != "Bearer":
            return False
        if not words.startswith(START):
            return self._is_signed(token)
        # The seal first: what it is on is ours, and so can be read.
        sealed = hmac.compare_digest(seal.encode(errors="replace"), self._seal(words).encode())
        return sealed and float(words.rpartition(".")[2]) > time.time()

    def _is_signed(self, token: str) -> bool:
        """A service account may also sign its token itself, as Google's own clients have it do."""
        try:
            return bool(self._claims(token))
        except GcpError:
            return False

    def _seal(self, words: str) -> str:
        return hmac.new(self._secret, words.encode(errors="replace"), hashlib.sha256).hexdigest()[
            :40
        ]

    def exchange(self, call: Call) -> dict[str, Any]:
        """A signed assertion for a token, as service accounts do it."""
        form = {
            name: values[0]
            for name, values in parse_qs(call.request.body.decode(errors="replace")).items()
        }
        if form.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
            raise GcpError(400, "unsupported_grant_type")
        claims = self._claims(form.get("assertion", ""))
        token = self.token(str(claims.get("iss", "")), time.time() + HOLDS_SECONDS)
        return {"access_token": token, "expires_in": HOLDS_SECONDS, "token_type": "Bearer"}

    def impersonate(self, call: Call) -> dict[str, Any]:
        until = datetime.now(UTC) + timedelta(seconds=HOLDS_SECONDS)
        return {
            "accessToken": self.token(call.at["name"], until.timestamp()),
            "expireTime": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def _claims(self, assertion: str) -> dict[str, Any]:
        try:
            claims = jwt.claims_of(assertion, self._folder / "account.pub")
        except jwt.BadToken:
            raise GcpError(400, "invalid_grant: Invalid JWT Signature.") from None
        if float(claims.get("exp", 0)) < time.time():
            raise GcpError(400, "invalid_grant: the assertion has expired")
        return claims
