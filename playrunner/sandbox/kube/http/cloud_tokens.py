"""Tokens of the pretend clouds at this API: those that `aws eks get-token` makes, and access tokens
of the pretend Google Cloud.

A token of EKS is a signed question to AWS, "who am I?", with the name of a cluster in it. As on
EKS, AWS says whether it is right: the pretend one of the same sandbox knows the keys and the
clusters. Google's are sealed with its secret.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from playrunner.sandbox.gcp import auth
from playrunner.sandbox.http.control_client import ask

EKS_PREFIX = "k8s-aws-v1."
REMEMBERED_SECONDS = 10.0  # so that not every request asks AWS
_MOST = 256
_LONGEST = 16384  # no token is longer; a header may be


class CloudTokens:
    """Those of the sandbox in one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._right: dict[
            bytes, float
        ] = {}  # digest of a token that AWS knew: until when that is believed

    def knows(self, token: str) -> bool:
        """Whether a cloud of this sandbox gave it out, or its keys did."""
        if len(token) > _LONGEST:
            return False
        if token.startswith(EKS_PREFIX):
            return self._is_of_aws(token)
        if token.startswith(auth.START):
            return (self._root / "gcp.json").exists() and auth.Entrance(self._root / "gcp").knows(
                f"Bearer {token}"
            )
        return False

    def _is_of_aws(self, token: str) -> bool:
        digest, now = hashlib.sha256(token.encode(errors="replace")).digest(), time.monotonic()
        if self._right.get(digest, 0.0) > now:
            return True
        said = ask(self._root, "aws", "token-reviews", {"token": token})
        if not said or not said.get("cluster"):
            return False
        if len(self._right) >= _MOST:
            self._right.clear()
        self._right[digest] = now + REMEMBERED_SECONDS
        return True
