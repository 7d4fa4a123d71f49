"""Filters that encode and digest text: base64, checksums, password hashes, UUIDs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.errors import StepFailed

# The namespace that makes `to_uuid` give the same UUIDs as Ansible does.
_UUID_NAMESPACE = "361E6D51-FAEC-444A-9079-341386DA8E2E"
_CRYPT_METHODS = {
    "sha512": "SHA512",
    "sha256": "SHA256",
    "blowfish": "BLOWFISH",
    "bcrypt": "BLOWFISH",
    "md5": "MD5",
}


def b64encode(value: Any, encoding: str = "utf-8", urlsafe: bool = False) -> str:
    import base64

    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    return encode(str(value).encode(encoding, "surrogateescape")).decode("ascii")


def b64decode(value: Any, encoding: str = "utf-8", urlsafe: bool = False) -> str:
    import base64

    decode = base64.urlsafe_b64decode if urlsafe else base64.b64decode
    return decode(str(value)).decode(encoding, "surrogateescape")


def digest(value: Any, hashtype: str = "sha1") -> str:
    """The hexadecimal digest of a text."""
    import hashlib

    if hashtype not in hashlib.algorithms_available:
        raise ValueError(f"there is no hash named {hashtype!r}; try sha1, sha256, sha512 or md5")
    return hashlib.new(
        hashtype, str(value).encode("utf-8", "surrogateescape"), usedforsecurity=False
    ).hexdigest()


def sha1(value: Any) -> str:
    return digest(value, "sha1")


def md5(value: Any) -> str:
    return digest(value, "md5")


def password_hash(
    password: Any,
    hashtype: str = "sha512",
    salt: str | None = None,
    salt_size: int | None = None,
    rounds: int | None = None,
) -> str:
    """A hash for /etc/shadow. Without a salt it differs at each run; give one to keep a step
    unchanged."""
    if hashtype not in _CRYPT_METHODS:
        raise ValueError(
            f"there is no password hash named {hashtype!r}; there are {', '.join(_CRYPT_METHODS)}"
        )
    crypt = _crypt_library()
    method = getattr(crypt, f"METHOD_{_CRYPT_METHODS[hashtype]}")
    if salt is None:
        setting = crypt.mksalt(method, rounds=rounds) if rounds else crypt.mksalt(method)
        if salt_size:
            head, _, tail = setting.rpartition("$")
            setting = f"{head}${tail[:salt_size]}"
    elif rounds:
        setting = f"${method.ident}$rounds={rounds}${salt}"
    else:
        setting = f"${method.ident}${salt}"
    return str(crypt.crypt(str(password), setting))


def to_uuid(value: Any, namespace: str = _UUID_NAMESPACE) -> str:
    """A UUID that depends on the text alone."""
    import uuid

    return str(uuid.uuid5(uuid.UUID(str(namespace)), str(value)))


FILTERS: dict[str, Callable[..., Any]] = {
    "b64encode": b64encode,
    "b64decode": b64decode,
    "hash": digest,
    "checksum": sha1,
    "sha1": sha1,
    "md5": md5,
    "password_hash": password_hash,
    "to_uuid": to_uuid,
}


def _crypt_library() -> Any:
    import importlib
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return importlib.import_module("crypt")
        except ImportError:
            raise StepFailed(
                "filter 'password_hash': this Python has no crypt library (it left with 3.13);"
                " make the hash once with `openssl passwd -6` and keep it in a variable"
            ) from None
