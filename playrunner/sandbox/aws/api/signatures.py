"""Signature version 4, the receiving half: what a request says about its signature, and whether a
secret makes the same."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import quote, unquote

from botocore.utils import normalize_url_path

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW = timedelta(minutes=15)  # between the signer's clock and ours
_UNSIGNED = "UNSIGNED-PAYLOAD"
_STAMP = "%Y%m%dT%H%M%SZ"


class Malformed(ValueError):
    """It claims to be signed, and cannot be."""


@dataclass(frozen=True)
class Message:
    """What is signed, as it came over the wire; `header` gives a header's value by its name in
    lower case, or ""."""

    method: str
    path: str  # as sent, with its percent signs
    query: str
    header: Callable[[str], str]
    body: bytes = b""


@dataclass(frozen=True)
class Claim:
    """What a message says about its signature."""

    key_id: str
    date: str
    region: str
    service: str
    moment: datetime
    headers: tuple[str, ...]
    signature: str
    session_token: str
    seconds: int | None = None  # of a signed URL: for how long it holds

    @property
    def scope(self) -> str:
        return f"{self.date}/{self.region}/{self.service}/aws4_request"

    @property
    def overdue(self) -> bool:
        """Whether it is too old, or from the future."""
        now = datetime.now(UTC)
        # Only S3 lets a signed URL hold for as long as it says; elsewhere it is a request like
        # others.
        holds = (
            timedelta(seconds=self.seconds)
            if self.service == "s3" and self.seconds is not None
            else SKEW
        )
        return not self.moment - SKEW < now < self.moment + holds


def claim_of(message: Message) -> Claim | None:
    """None for a message that does not claim to be signed at all."""
    given = message.header("authorization")
    query = dict(_pairs(message.query))
    if given:
        return _in_header(given, message)
    return _in_query(query) if "X-Amz-Signature" in query else None


def matches(claim: Claim, secret: str, message: Message) -> bool:
    """Whether the message was signed with this secret, and is what was signed."""
    payload = _payload_hash(claim, message)
    if payload is None:
        return False
    canonical = "\n".join([
        message.method, _path(claim, message.path), _query(message.query),
        *(f"{name}:{' '.join(message.header(name).split())}" for name in claim.headers), "",
        ";".join(claim.headers), payload,
    ])  # fmt: skip
    # Headers arrive as latin-1, whatever was sent: this gives their own bytes back.
    digest = hashlib.sha256(canonical.encode("latin-1", errors="replace")).hexdigest()
    text = "\n".join([ALGORITHM, claim.moment.strftime(_STAMP), claim.scope, digest])
    key = _signing_key(secret, claim.date, claim.region, claim.service)
    made = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return hmac.compare_digest(made.encode(), claim.signature.encode(errors="replace"))


def _in_header(given: str, message: Message) -> Claim:
    algorithm, _, rest = given.partition(" ")
    if algorithm != ALGORITHM:
        raise Malformed(
            "The authorization mechanism you have provided is not supported. Please use"
            f" {ALGORITHM}."
        )
    parts = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    try:
        return _claim(
            parts["Credential"],
            message.header("x-amz-date"),
            parts["SignedHeaders"],
            parts["Signature"],
            message.header("x-amz-security-token"),
        )
    except (KeyError, ValueError) as error:
        raise Malformed(f"The Authorization header is malformed: {error}") from None


def _in_query(query: dict[str, str]) -> Claim:
    try:
        if query["X-Amz-Algorithm"] != ALGORITHM:
            raise ValueError(f"the algorithm must be {ALGORITHM}")
        return _claim(
            query["X-Amz-Credential"],
            query["X-Amz-Date"],
            query["X-Amz-SignedHeaders"],
            query["X-Amz-Signature"],
            query.get("X-Amz-Security-Token", ""),
            min(int(query["X-Amz-Expires"]), 7 * 86400),
        )
    except (KeyError, ValueError) as error:
        raise Malformed(f"The signed URL is malformed: {error}") from None


def _claim(
    credential: str,
    stamp: str,
    headers: str,
    signature: str,
    token: str,
    seconds: int | None = None,
) -> Claim:
    key_id, date, region, service, end = credential.split("/")
    moment = datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    names = tuple(headers.split(";"))
    if (
        end != "aws4_request"
        or not stamp.startswith(date)
        or "host" not in names
        or list(names) != sorted(set(names))
    ):
        raise ValueError("its scope, date or signed headers do not fit together")
    return Claim(key_id, date, region, service, moment, names, signature, token, seconds)


def _payload_hash(claim: Claim, message: Message) -> str | None:
    """What the signature covers of the body; None where the body is not the one that was meant."""
    if claim.seconds is not None and claim.service == "s3":
        return _UNSIGNED
    digest = hashlib.sha256(message.body).hexdigest()
    declared_hash = message.header("x-amz-content-sha256")
    if not declared_hash:
        return digest
    # S3's clients may leave the body out of the signature, or sign it piece by piece.
    left_out = claim.service == "s3" and (
        declared_hash == _UNSIGNED or declared_hash.startswith("STREAMING-")
    )
    return declared_hash if left_out or declared_hash == digest else None


def _path(claim: Claim, path: str) -> str:
    return (path or "/") if claim.service == "s3" else quote(normalize_url_path(path), safe="/~")


def _query(query: str) -> str:
    pairs = [(name, value) for name, value in _pairs(query) if name != "X-Amz-Signature"]
    encoded = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in encoded)


def _pairs(query: str) -> list[tuple[str, str]]:
    """A plus sign stands for itself here, unlike in forms."""
    parts = (part.partition("=") for part in query.split("&") if part)
    return [(unquote(name), unquote(value)) for name, _, value in parts]


@lru_cache(maxsize=64)
def _signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
