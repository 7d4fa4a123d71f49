"""What every error about rubbish looks like."""

from __future__ import annotations


def assert_plain(error: Exception) -> str:
    message = str(error)
    assert "\n" not in message and message.isprintable() and len(message) < 500, message
    return message
