"""The text that an encrypted value is written as: a header, and lines of hexadecimal digits.

`$ANSIBLE_VAULT;1.1;AES256`, or `$ANSIBLE_VAULT;1.2;AES256;label` where the vault id has a label.
The digits spell three lines of hexadecimal digits: salt, HMAC and ciphertext.
"""

from __future__ import annotations

import re
from binascii import Error, hexlify, unhexlify
from typing import NamedTuple

MARK = "$ANSIBLE_VAULT;"
DEFAULT_LABEL = "default"
_CIPHER = "AES256"
_LINE_DIGITS = 80
_LABEL = re.compile(r"[^;\s]+")


class Malformed(ValueError):
    """A text that begins like an encrypted one and is none."""


class Envelope(NamedTuple):
    """An encrypted value, taken apart."""

    label: str  # of the vault id; empty in format 1.1
    salt: bytes
    digest: bytes
    ciphertext: bytes


def is_encrypted(content: str | bytes) -> bool:
    if isinstance(content, str):
        return content.startswith(MARK)
    return content.startswith(MARK.encode())


def opened(content: str | bytes) -> Envelope:
    """Take an encrypted text apart; Malformed where it is damaged or of another format."""
    try:
        text = content if isinstance(content, str) else content.decode("ascii")
    except UnicodeDecodeError:
        raise Malformed("it has characters that no encrypted text has") from None
    header, *lines = text.strip().splitlines() or [""]
    label = _label_of(header)
    digits = "".join("".join(line.split()) for line in lines)
    parts = _bytes_of(digits).split(b"\n", 2)
    if len(parts) != 3:
        raise Malformed("it ends too early; restore it from a backup or encrypt it again")
    salt, digest, ciphertext = (_bytes_of(part.decode("latin-1")) for part in parts)
    if not digest or not ciphertext:
        raise Malformed("it ends too early; restore it from a backup or encrypt it again")
    return Envelope(label, salt, digest, ciphertext)


def closed(envelope: Envelope) -> str:
    """The text of an envelope, as ansible-vault writes it."""
    parts = (envelope.salt, envelope.digest, envelope.ciphertext)
    digits = hexlify(b"\n".join(map(hexlify, parts))).decode()
    label = "" if envelope.label == DEFAULT_LABEL else envelope.label
    header = f"{MARK}1.2;{_CIPHER};{label}" if label else f"{MARK}1.1;{_CIPHER}"
    lines = [digits[start : start + _LINE_DIGITS] for start in range(0, len(digits), _LINE_DIGITS)]
    return "\n".join([header, *lines]) + "\n"


def is_label(text: str) -> bool:
    """Whether a text can be the label of a vault id, which is written into a header."""
    return bool(_LABEL.fullmatch(text)) and text.isascii()


def _label_of(header: str) -> str:
    fields = [field.strip() for field in header.split(";")]
    if len(fields) < 3 or fields[0] != MARK.rstrip(";"):
        raise Malformed(f"its first line is not {MARK}1.1;{_CIPHER}")
    version, cipher = fields[1:3]
    if cipher != _CIPHER:
        raise Malformed(f'its cipher is "{cipher}"; only {_CIPHER} can be read')
    if version not in ("1.1", "1.2"):
        raise Malformed(f'its format is "{version}"; 1.1 and 1.2 can be read')
    return fields[3] if version == "1.2" and len(fields) > 3 else ""


def _bytes_of(digits: str) -> bytes:
    try:
        return unhexlify(digits)
    except (Error, ValueError):
        raise Malformed(
            "it is not made of pairs of hexadecimal digits; restore it from a backup or encrypt it"
            " again"
        ) from None
