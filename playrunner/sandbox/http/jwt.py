"""Signed tokens as Kubernetes and Google have them: JSON Web Tokens with an RSA key and SHA-256."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any


class BadToken(ValueError):
    """Not a token, or not signed with that key."""


def signed(claims: dict[str, Any], private_key: Path) -> str:
    """A token that says this, signed with the key in this file."""
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(private_key.read_bytes(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    text = ".".join(
        _encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "typ": "JWT"}, claims)
    )
    return f"{text}.{_encoded(key.sign(text.encode(), padding.PKCS1v15(), SHA256()))}"


def claims_of(token: str, public_key: Path) -> dict[str, Any]:
    """What a token says, if it was signed with the other half of the key in this file; OSError
    where there is no such file."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = load_pem_public_key(public_key.read_bytes())
    assert isinstance(key, rsa.RSAPublicKey)
    text, _, signature = token.rpartition(".")
    try:
        # The key first: nothing that a stranger wrote is read before it is known to be ours.
        key.verify(_decoded(signature), text.encode(), padding.PKCS1v15(), SHA256())
        header, claims = (json.loads(_decoded(part)) for part in text.split("."))
    except (InvalidSignature, ValueError) as error:
        raise BadToken("the token is not signed with the key of this sandbox") from error
    if not isinstance(header, dict) or header.get("alg") != "RS256" or not isinstance(claims, dict):
        raise BadToken("the token is not one of RS256")
    return claims


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
