"""AES256 as ansible-vault means it: PBKDF2 with SHA-256, AES in counter mode, HMAC-SHA256."""

from __future__ import annotations

import hashlib
import hmac
import os
from functools import lru_cache

from playrunner.errors import BadInput
from playrunner.vault.envelope import Envelope, Malformed

_ROUNDS = 10_000  # part of the format
_KEY_BYTES = 32
_BLOCK_BYTES = 16
_SALT_BYTES = 32


def encrypt(plaintext: bytes, password: bytes, label: str = "", salt: bytes = b"") -> Envelope:
    salt = salt or os.urandom(_SALT_BYTES)
    key, signing_key, counter = _keys(password, salt)
    missing = _BLOCK_BYTES - len(plaintext) % _BLOCK_BYTES
    ciphertext = _aes(key, counter, plaintext + bytes([missing]) * missing)
    return Envelope(label, salt, hmac.digest(signing_key, ciphertext, "sha256"), ciphertext)


def decrypt(envelope: Envelope, password: bytes) -> bytes | None:
    """The plaintext; None for another password than the one it was encrypted with."""
    key, signing_key, counter = _keys(password, envelope.salt)
    digest = hmac.digest(signing_key, envelope.ciphertext, "sha256")
    if not hmac.compare_digest(digest, envelope.digest):
        return None
    padded = _aes(key, counter, envelope.ciphertext)
    missing = padded[-1] if padded else 0
    if not 1 <= missing <= _BLOCK_BYTES or len(padded) % _BLOCK_BYTES:
        raise Malformed("its length is wrong; encrypt it again")
    return padded[:-missing]


@lru_cache(maxsize=1024)  # each takes some milliseconds, and files are read more than once
def _keys(password: bytes, salt: bytes) -> tuple[bytes, bytes, bytes]:
    """The key of the cipher, the key of the HMAC, and the first counter."""
    length = 2 * _KEY_BYTES + _BLOCK_BYTES
    derived = hashlib.pbkdf2_hmac("sha256", password, salt, _ROUNDS, length)
    return (
        derived[:_KEY_BYTES],
        derived[_KEY_BYTES : 2 * _KEY_BYTES],
        derived[2 * _KEY_BYTES :],
    )


def _aes(key: bytes, counter: bytes, data: bytes) -> bytes:
    """In counter mode, encrypting and decrypting are the same."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError as error:
        raise BadInput(
            f"vault needs the package cryptography ({error}); run: pip install cryptography"
        ) from None
    stream = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    return stream.update(data) + stream.finalize()
