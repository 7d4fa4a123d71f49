"""Arguments written in one line: `file: path=/x state=directory`, `command: make install
chdir=/src`."""

from __future__ import annotations

import re

# A word ends at white space that is in no quotes and in no {{ }} or {% %}.
_PIECE = re.compile(
    r"""\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\\.|[^\s"'{\\]+|.""",
    re.DOTALL,
)
_PAIR = re.compile(r"([A-Za-z_]\w*|[^=]*\{\{.*?\}\}[^=]*)=(.*)", re.DOTALL)
_ESCAPE = re.compile(
    r"""\\(?:U[0-9a-fA-F]{8}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|N\{[^}]+\}|[\\'"abfnrtv])"""
)


def words(text: str) -> list[tuple[str, int, int]]:
    """The words of a line with where each starts and ends."""
    spans: list[tuple[str, int, int]] = []
    start = -1
    for piece in _PIECE.finditer(text):
        if piece.group().isspace():
            if start >= 0:
                spans.append((text[start : piece.start()], start, piece.start()))
            start = -1
        elif start < 0:
            start = piece.start()
    if start >= 0:
        spans.append((text[start:], start, len(text)))
    return spans


def pairs_and_rest(text: str) -> tuple[dict[str, str], str]:
    """`a=1 b="two words"` as a mapping, and the words that are not of this form."""
    arguments, rest = {}, []
    for word, _, _ in words(text):
        match = _PAIR.fullmatch(word)
        if match:
            arguments[match.group(1)] = value_of(match.group(2))
        else:
            rest.append(word)
    return arguments, " ".join(rest)


def without_continuations(text: str) -> str:
    """A text whose lines go on after a backslash, in one line; quoted ones stay as they are."""
    if "\\\n" not in text:
        return text
    parts, last = [], 0
    for word, start, _ in words(text):
        if word.startswith("\\\n"):
            parts.append(text[last:start])
            last = start + 2
            while text[last : last + 1] in (" ", "\t"):
                last += 1
    return "".join(parts) + text[last:]


def command_and_pairs(text: str, names: frozenset[str]) -> tuple[str, dict[str, str]]:
    """A command line without its known name=value words, which are returned beside it; the rest
    keeps its spacing."""
    arguments = {}
    kept, last = [], 0
    for word, start, end in words(text):
        match = _PAIR.fullmatch(word)
        if match and match.group(1) in names:
            arguments[match.group(1)] = value_of(match.group(2))
            kept.append(text[last:start])
            last = end
    return ("".join(kept) + text[last:]).strip(), arguments


def value_of(text: str) -> str:
    """The value of name=value: escapes such as \\n stand for characters, outer quotes are not part
    of it."""
    text = _ESCAPE.sub(_unescaped, text).strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'" and text[-2] != "\\":
        return text[1:-1]
    return text


def _unescaped(found: re.Match[str]) -> str:
    try:
        return found[0].encode().decode("unicode_escape")
    except UnicodeDecodeError:  # \\N{no such name}
        return found[0]


def unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].replace('\\"', '"') if text[0] == '"' else text[1:-1]
    return text
