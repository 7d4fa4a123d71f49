"""Decrypted texts, which no record and no output may repeat.

A step's own output is shown as it is where its author prints a value on purpose (debug, the output
of a command); everything else that a run writes goes through here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Container, Mapping
from typing import Any

MASK = "********"
# Shorter texts are hidden only where they are a whole value: each "no" or "22" is not the secret.
_SHORTEST_PART = 4
_SHORTEST_LINE = 8  # of a text with several lines, such as a private key


class Masking:
    """The texts to hide; without any, nothing costs anything."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, text: str) -> None:
        """Hide a text from now on, and each line of it."""
        lines = {line.strip() for line in text.splitlines()}
        new = {text, text.strip(), *(line for line in lines if len(line) >= _SHORTEST_LINE)}
        with self._lock:
            if not new <= self._texts:
                # Another set: a thread that prints may be reading this one.
                self._texts = {each for each in self._texts | new if each}
                self._pattern = None

    def add_leaves(self, value: Any) -> None:
        """Hide every text and number in a value, such as the content of an encrypted file of
        variables."""
        if isinstance(value, str) or _is_number(value):
            self.add(str(value))
        elif isinstance(value, Mapping):
            for inner in value.values():
                self.add_leaves(inner)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                self.add_leaves(inner)

    def text(self, text: str) -> str:
        if not self._texts or not text:
            return text
        if text in self._texts:
            return MASK
        return self._compiled().sub(MASK, text)

    def value(self, value: Any, shown: Container[str] = ()) -> Any:
        """A value without the texts; entries of a mapping named in `shown` stay as they are."""
        if not self._texts:
            return value
        if isinstance(value, str):
            return self.text(value)
        if _is_number(value):
            return (
                MASK if len(str(value)) >= _SHORTEST_PART and str(value) in self._texts else value
            )
        if isinstance(value, Mapping):
            return {
                key: inner if key in shown else self.value(inner, shown)
                for key, inner in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.value(inner, shown) for inner in value]
        return value

    def _compiled(self) -> re.Pattern[str]:
        pattern = self._pattern
        if pattern is None:
            # The longest first: a secret may be the beginning of another.
            parts = sorted(
                (text for text in self._texts if len(text) >= _SHORTEST_PART),
                key=lambda text: (-len(text), text),
            )
            joined = "|".join(map(re.escape, parts))
            pattern = self._pattern = re.compile(joined or r"(?!)")
        return pattern


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


masking = Masking()  # of this process
