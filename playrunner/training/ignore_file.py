"""Patterns of a .gitignore as people write them: folders/, /anchored, *.suffix, **, !kept."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Ignored:
    def __init__(self, lines: Iterable[str]) -> None:
        texts = [line.strip() for line in lines]
        self._rules = [_rule(text) for text in texts if text and not text.startswith("#")]

    def names(self, path: str) -> bool:
        """Whether a path (a folder ends in /) is left out, itself or with a folder above it."""
        parts = path.rstrip("/").split("/")
        for count in range(1, len(parts)):
            if self._decided("/".join(parts[:count]) + "/"):
                return True
        return self._decided(path)

    def _decided(self, path: str) -> bool:
        left_out = False
        for pattern, keeps in self._rules:
            if pattern.fullmatch(path):
                left_out = not keeps
        return left_out


def _rule(text: str) -> tuple[re.Pattern[str], bool]:
    keeps = text.startswith("!")
    text = text[1:] if keeps else text
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    body = "".join(map(_translated, re.findall(r"\*\*/|/\*\*|\*|\?|\[[^]]*\]|.", text.lstrip("/"))))
    start = "" if anchored else "(?:.*/)?"
    return re.compile(f"{start}{body}{'/' if folders_only else '/?'}"), keeps


def _translated(token: str) -> str:
    known = {"**/": "(?:.*/)?", "/**": "/.*", "*": "[^/]*", "?": "[^/]"}
    if token in known:
        return known[token]
    if token.startswith("[") and len(token) > 1:
        return f"[{'^' if token[1] == '!' else ''}{token[1:-1].lstrip('!')}]"
    return re.escape(token)
