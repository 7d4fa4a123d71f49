"""Answers: what an API sent becomes a checked value here, or BadAnswer says in one line what came
instead.

A broken proxy, a wrong address or a hostile server can answer anything. Each client passes what it
was sent through this file, so that the code behind the clients may rely on it: it is JSON, no
deeper and no larger than real answers are, and it has the shape that was asked for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from playrunner.errors import HostUnreachable

# A page of 500 pods has some MB, and the largest list without pages that a cluster gives some tens
# of MB.
MOST_BYTES = 256 << 20
# The deepest real answers, schemas of CustomResourceDefinitions, have about 60 levels
MOST_NESTED = 100
MOST_PAGES = 2000  # of one list; at 500 things a page, a million of them
# An answer may come slowly, but not one byte a minute for ever.
ANSWER_SECONDS = 300.0
_PIECE = 1 << 18
_SHOWN = 40  # characters of an answer, in a message

# A type; [shape] for a list; {"field": shape} for a mapping, "field!" when it must be there, "*"
# for all others
Shape = Any


class BadAnswer(HostUnreachable):
    """An API sent an answer that cannot be used."""


class MissingField(BadAnswer, KeyError):
    """A required field of an answer is missing; a template that reads it finds it undefined."""

    def __str__(self) -> str:
        return str(self.args[0])


class Answer(dict[str, Any]):
    """A mapping of an answer: a missing field raises an error that names the service."""

    source = ""

    def __missing__(self, key: str) -> Any:
        raise MissingField(
            f"{self.source or 'the service'}: the answer has no {key!r};"
            " does the address lead to the right service?"
        )


def document(data: bytes, source: str, content_type: str = "") -> Any:
    """The JSON value of an answer; `source` names the service."""

    def mapping(found: dict[str, Any]) -> Answer:
        made = Answer(found)
        made.source = source
        return made

    try:
        value = json.loads(data, object_hook=mapping, parse_constant=_refuse_constant)
        if (
            b"\\ud" in data or b"\\uD" in data
        ):  # half a character, which can be neither printed nor sent on
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # also text that is not UTF-8
        raise BadAnswer(
            f"{source} answered no JSON but {described(data, content_type)};"
            " is there a proxy between, or another server at this address?"
        ) from None
    if too_deep(value):
        raise BadAnswer(f"{source} answered JSON that is nested more than {MOST_NESTED} deep")
    return value


def fitting(value: Any, shape: Shape, source: str) -> Any:
    """The value, which has this shape."""
    wrong = misfit(value, shape)
    if wrong:
        raise BadAnswer(
            f"{source} answered something else than was asked for: {wrong};"
            " does the address lead to the right service?"
        )
    return value


def misfit(value: Any, shape: Shape, path: str = "") -> str:
    """What is wrong with a value, or nothing; null counts as a missing field."""
    kind: Any = shape if isinstance(shape, type) else type(shape)
    if kind is float and isinstance(value, int):
        kind = int
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        return f"{path or 'it'} is {_kind_of(value)}, not {_NAMES[kind]}"
    if isinstance(shape, list):
        return next(
            filter(
                None, (misfit(one, shape[0], f"{path}[{index}]") for index, one in enumerate(value))
            ),
            "",
        )
    return _fields_misfit(value, shape, path) if isinstance(shape, dict) else ""


def _fields_misfit(value: Mapping[str, Any], shape: dict[str, Shape], path: str) -> str:
    for name, inner in shape.items():
        field = name.rstrip("!")
        within = f"{path}.{field}" if path else field
        if name == "*":
            wrong = next(
                filter(
                    None,
                    (
                        misfit(one, inner, f"{path}.{key}")
                        for key, one in value.items()
                        if one is not None
                    ),
                ),
                "",
            )
        elif value.get(field) is not None:
            wrong = misfit(value[field], inner, within)
        else:
            wrong = f"it has no {within}" if field != name else ""
        if wrong:
            return wrong
    return ""


def plain(value: Any) -> Any:
    """The same in ordinary mappings and text, for code that looks at exact types: YAML's dumper,
    and comparisons with what an API answered."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {plain(key): plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def too_deep(value: Any) -> bool:
    """Level by level, since a function that calls itself would end where the value is too deep."""
    level = [value]
    for _ in range(MOST_NESTED):
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def gathered(read: Callable[[int], bytes], source: str) -> bytes:
    """Everything that `read` returns, chunk by chunk, within the limits of size and time."""
    pieces, size, deadline = list[bytes](), 0, time.monotonic() + ANSWER_SECONDS
    while piece := read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise BadAnswer(f"{source} answered more than {MOST_BYTES >> 20} MiB")
        if time.monotonic() > deadline:
            raise BadAnswer(
                f"{source} has not come to the end of its answer within {ANSWER_SECONDS:g} seconds"
            )
    return b"".join(pieces)


def described(data: bytes, content_type: str = "") -> str:
    """The answer, for a message: text/html, 1.2 kB, starts with '<html>'."""
    if not data:
        return "nothing"
    size = f"{len(data)} bytes" if len(data) < 1000 else f"{len(data) / 1000:.1f} kB"
    kind = content_type.partition(";")[0].strip()
    begin = ascii(data[: 4 * _SHOWN].decode(errors="replace").lstrip()[:_SHOWN])
    return f"{kind and kind + ', '}{size}, starts with {begin}"


def shown(url: str) -> str:
    """A URL without its secrets: the password and the query."""
    split = urlsplit(url)
    return f"{split.scheme}://{split.netloc.rpartition('@')[2]}{split.path}"


def _refuse_constant(word: str) -> Any:
    raise ValueError(word)  # NaN and Infinity are no JSON


def _kind_of(value: Any) -> str:
    return (
        "null"
        if value is None
        else _NAMES.get(type(value)) or _NAMES.get(type(value).__mro__[1], type(value).__name__)
    )


_NAMES = {
    dict: "a mapping",
    list: "a list",
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
