"""Tokens of the pretend clouds at this API: those that `aws eks get-token` makes with the pretend AWS's keys, access tokens of
the pretend Google Cloud (sealed with its secret), and listed ones.

A token of EKS is a signed question to AWS, "who am I?". The key that it is signed with must be that of the pretend AWS in the
same sandbox, and its date recent; the signature itself is not checked. A pretend cloud whose tokens are mere words puts them,
one to a line, into `kube-tokens` in the sandbox's folder.
"""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from sandbox.gcp import entrance

EKS_PREFIX = "k8s-aws-v1."
HOLDS = timedelta(minutes=15)
LISTED = "kube-tokens"


def is_known(token: str, root: Path) -> bool:
    """Whether a cloud of the sandbox in this folder gave it out."""
    if token.startswith(EKS_PREFIX):
        return _is_of_aws(token.removeprefix(EKS_PREFIX), root / "aws.json")
    if token.startswith(entrance.START):
        return (root / "gcp.json").exists() and entrance.Entrance(root / "gcp").knows(f"Bearer {token}")
    try:
        return bool(token) and token in (root / LISTED).read_text().split()
    except OSError:
        return False


def _is_of_aws(text: str, record: Path) -> bool:
    try:
        key = json.loads(record.read_text())["access_key_id"]
        url = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        asked = {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}
        moment = datetime.strptime(asked["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        return (
            asked["Action"] == "GetCallerIdentity"
            and asked["X-Amz-Credential"].split("/")[0] == key
            and "x-k8s-aws-id" in asked["X-Amz-SignedHeaders"].split(";")
            and bool(asked["X-Amz-Signature"])
            and abs(datetime.now(UTC) - moment) < HOLDS
        )
    except (OSError, ValueError, KeyError, binascii.Error):
        return False
