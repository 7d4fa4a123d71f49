"""A rendered object as a table: the path of every field, and what stands there; and how such a
table is held against the facts.

Things with names are found by them (`env.LOGLEVEL`, `volumes.data`), a program's flags by theirs
(`args.--nnodes`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Row = tuple[
    str, Any, str
]  # a path, what stands there, and the fact that wants it so; after "ours:", a reason of our own
ABSENT = "(not there)"


def fields(thing: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every field with its path; an empty list or mapping is a field as well."""
    if path.endswith(".args"):
        yield from _words(thing, path)
    elif isinstance(thing, Mapping) and set(thing) == {"name", "value"}:
        yield path, thing["value"]
    elif isinstance(thing, Mapping) and thing:
        for name, value in thing.items():
            yield from fields(value, f"{path}.{name}" if path else str(name))
    elif isinstance(thing, list) and thing and all(isinstance(one, Mapping) for one in thing):
        for at, one in enumerate(thing):
            rest = {
                key: value
                for key, value in one.items()
                if key != "name" or set(one) == {"name", "value"}
            }
            yield from fields(rest, f"{path}.{one.get('name', at)}")
    else:
        yield path, thing


def differences(things: Iterable[Mapping[str, Any]], rows: Iterable[Row]) -> list[str]:
    """Where objects are not as the rows have them: fields that differ, that are missing, and that
    no row speaks of."""
    there = {f"{thing['kind']}.{path}": value for thing in things for path, value in fields(thing)}
    wanted: dict[str, tuple[Any, str]] = {}
    for path, value, fact in rows:
        assert path not in wanted, f"two rows speak of {path}"
        wanted[path] = (value, fact)
    wrong = [
        f"{path} is {json.dumps(there.get(path, ABSENT))}, and should be {json.dumps(value)}:"
        f" {fact}"
        for path, (value, fact) in wanted.items()
        if there.get(path, ABSENT) != value
    ]
    new = [
        f"{path} is {json.dumps(value)}, and no row speaks of it"
        for path, value in there.items()
        if path not in wanted
    ]
    return [*wrong, *new]


def _words(words: list[str], path: str) -> Iterator[tuple[str, Any]]:
    flags = words[: words.index("-m")]
    for word in flags:
        flag, _, value = word.partition("=")
        yield f"{path}.{flag}", value
    yield f"{path}.-m", " ".join(words[len(flags) + 1 :])
