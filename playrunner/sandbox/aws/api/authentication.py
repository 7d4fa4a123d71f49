"""Who may ask: a request's signature is held against the keys that are known, and refused in its
service's own words."""

from __future__ import annotations

import base64
import binascii
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from moto.core.request import Request

from playrunner.sandbox.aws.api import keys, signatures
from playrunner.sandbox.aws.api.aws_state import AwsState
from playrunner.sandbox.aws.api.credentials import Credential, Credentials
from playrunner.sandbox.aws.api.signatures import Claim, Malformed, Message
from playrunner.sandbox.aws.api.wire import AwsError

# What it carries instead is a token, which is looked at where it is answered
UNSIGNED = "AssumeRoleWithWebIdentity"
EKS_PREFIX = "k8s-aws-v1."
_CLUSTER_HEADER = "x-k8s-aws-id"
_CALCULATED = (
    "The request signature we calculated does not match the signature you provided. Check your AWS"
    " Secret Access Key and signing method."
)

# By the protocol of the service, else of all: the code that AWS has for it, and its status.
_MISSING = {
    "s3": ("AccessDenied", 403),
    "ec2": ("AuthFailure", 401),
    "query": ("MissingAuthenticationToken", 403),
    "": ("MissingAuthenticationTokenException", 403),
}
_UNKNOWN = {
    "s3": ("InvalidAccessKeyId", 403),
    "ec2": ("AuthFailure", 401),
    "query": ("InvalidClientTokenId", 403),
    "": ("UnrecognizedClientException", 403),
}
_MISMATCH = {
    "s3": ("SignatureDoesNotMatch", 403),
    "ec2": ("AuthFailure", 401),
    "query": ("SignatureDoesNotMatch", 403),
    "": ("InvalidSignatureException", 403),
}
_OVERDUE = {
    "s3": ("RequestTimeTooSkewed", 403),
    "ec2": ("RequestExpired", 400),
    "query": ("SignatureDoesNotMatch", 403),
    "": ("InvalidSignatureException", 403),
}
_ENDED = {
    "s3": ("ExpiredToken", 400),
    "ec2": ("RequestExpired", 400),
    "query": ("ExpiredToken", 403),
    "": ("ExpiredTokenException", 403),
}
_UNREADABLE = {
    "s3": ("InvalidRequest", 400),
    "ec2": ("AuthFailure", 401),
    "": ("IncompleteSignature", 400),
}


class Authentication:
    """The keys of one sandbox, and what they open."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the pretend AWS's own, which has the operator's keys."""
        self._keys = Credentials(*keys.read(folder))

    def require(self, state: AwsState, request: Request, body: bytes, protocol: str) -> None:
        """Raise what AWS answers, unless the request is signed by one of our keys or needs no
        signature."""
        message = _message(request, body)
        try:
            claim = signatures.claim_of(message)
        except Malformed as error:
            raise _error(_UNREADABLE, protocol, str(error)) from None
        if claim is None:
            if not _needs_no_signature(request):
                raise _error(_MISSING, protocol, "Request is missing Authentication Token")
            return
        self._require(state, claim, message, protocol)

    def owner_of(self, state: AwsState, token: str, clusters: Iterable[str]) -> str:
        """The cluster that a token of EKS opens: a signed question to STS, "who am I?", with the
        cluster's name in it."""
        text = token.removeprefix(EKS_PREFIX)
        try:
            url = urlsplit(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
            claim = signatures.claim_of(Message("GET", url.path, url.query, lambda name: ""))
        except (ValueError, binascii.Error):
            return ""
        if (
            claim is None
            or claim.service != "sts"
            or _CLUSTER_HEADER not in claim.headers
            or url.path not in ("", "/")
        ):
            return ""
        if (
            sorted(part for part in url.query.split("&") if not part.startswith("X-Amz-"))
            != _WHO_AM_I
        ):
            return ""
        for cluster in clusters:
            headers = defaultdict(str, {"host": url.netloc, _CLUSTER_HEADER: cluster})
            try:
                self._require(
                    state, claim, Message("GET", url.path, url.query, headers.__getitem__), "query"
                )
            except AwsError:
                continue
            return cluster
        return ""

    def _require(self, state: AwsState, claim: Claim, message: Message, protocol: str) -> None:
        known = self._keys.find(state, claim.key_id)
        if known is None or not _same_token(known, claim):
            raise _error(
                _UNKNOWN, protocol, "The security token included in the request is invalid."
            )
        if not signatures.matches(claim, known.secret, message):
            raise _error(_MISMATCH, protocol, _CALCULATED)
        if claim.overdue:
            raise _error(
                _OVERDUE,
                protocol,
                f"Signature expired: {claim.moment:%Y%m%dT%H%M%SZ} is not near the current time",
            )
        if known.expired:
            raise _error(_ENDED, protocol, "The security token included in the request is expired")


_WHO_AM_I = ["Action=GetCallerIdentity", "Version=2011-06-15"]


def _same_token(known: Credential, claim: Claim) -> bool:
    return keys.same(known.session_token, claim.session_token)


def _needs_no_signature(request: Request) -> bool:
    return bool(request.path == "/" and request.values.getlist("Action") == [UNSIGNED])


def _message(request: Request, body: bytes) -> Message:
    path, _, query = str(request.environ["RAW_URI"]).partition("?")
    return Message(request.method, path, query, lambda name: _header(request.environ, name), body)


def _header(environ: dict[str, Any], name: str) -> str:
    key = name.upper().replace("-", "_")
    return str(environ.get(key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}", ""))


def _error(codes: dict[str, tuple[str, int]], protocol: str, message: str) -> AwsError:
    code, status = codes.get(protocol) or codes[""]
    return AwsError(code, message, status)
