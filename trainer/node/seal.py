"""Authenticated lines: each carries a MAC made with the run's token, which is checked before the
line is parsed."""

from __future__ import annotations

import hashlib
import hmac

MAC_BYTES = 64  # of a MAC, in hexadecimal


class Seal:
    """One direction of one connection. Lines are numbered, so that a changed, repeated or missing
    one is detected."""

    def __init__(self, token: str, nonces: tuple[bytes, bytes], direction: str) -> None:
        self._key = hashlib.sha256(mac(token, *nonces, direction.encode())).digest()
        self._number = 0

    def closed(self, text: bytes) -> bytes:
        """The next line of this direction, without its end."""
        return b"%b %b" % (self._next(text), text)

    def opened(self, line: bytes) -> bytes | None:
        """The next line's text; None when its MAC is wrong."""
        text = line[MAC_BYTES + 1 :]
        return text if same(line[: MAC_BYTES + 1], self._next(text) + b" ") else None

    def _next(self, text: bytes) -> bytes:
        self._number += 1
        return (
            hmac.new(self._key, b"%d %b" % (self._number, text), hashlib.sha256)
            .hexdigest()
            .encode()
        )


def mac(token: str, *parts: bytes) -> bytes:
    """A MAC over the parts, each with its length, so that different lists have different MACs."""
    text = b"".join(b"%d:%b" % (len(part), part) for part in parts)
    return hmac.new(token.encode(), text, hashlib.sha256).hexdigest().encode()


def same(given: bytes, expected: bytes) -> bool:
    return hmac.compare_digest(given, expected)
