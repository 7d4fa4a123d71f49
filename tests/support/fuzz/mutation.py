"""Mutation: a valid document with some of its values replaced, removed, repeated or nested, or some
of its bytes changed."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import yaml

from tests.support.fuzz.odd_values import ODD_NUMBERS, ODD_PIECES, ODD_TEXTS, ODD_VALUES


def mutated(random: Random, seed: str, steps: int, structured: bool) -> str:
    """A text made from a seed by so many changes: of its values where it is YAML or JSON, or of its
    bytes."""
    if structured and random.random() < 0.6:
        value = copy.deepcopy(_parsed(seed))
        for _ in range(steps):
            value = _changed(random, value)
        return _written(random, value)
    data = seed.encode("utf-8", "surrogatepass")
    for _ in range(steps):
        data = _changed_bytes(random, data)
    return data.decode("utf-8", "surrogateescape")


_SEEN: dict[str, Any] = {}


def _parsed(seed: str) -> Any:
    if seed not in _SEEN:
        try:
            _SEEN[seed] = yaml.safe_load(seed)
        except yaml.YAMLError:  # one of several ways to write the same thing
            _SEEN[seed] = seed
    return _SEEN[seed]


def _written(random: Random, value: Any) -> str:
    try:
        if random.random() < 0.15:
            return json.dumps(value, default=str, skipkeys=True)
        return str(
            yaml.dump(
                value,
                Dumper=_Dumper,
                allow_unicode=True,
                default_flow_style=random.choice([None, False, True]),
            )
        )
    except (ValueError, TypeError):  # an integer of more digits than Python writes
        return repr(random.choice(ODD_TEXTS))


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _changed(random: Random, value: Any) -> Any:
    """The value with one change somewhere in it."""
    places = _places(value)
    if not places:
        return _odd(random)
    container, key = random.choice(places)
    change = random.randrange(6)
    if change == 0:
        container[key] = _odd(random)
    elif change == 1:
        del container[key]
    elif change == 2:  # the value of another place
        other, at = random.choice(places)
        container[key] = copy.deepcopy(
            other.get(at) if isinstance(other, dict) else other[at] if at < len(other) else None
        )
    elif change == 3:
        container[key] = random.choice(
            [[container[key]], {"a": container[key]}, {"name": container[key]}]
        )
    elif change == 4 and isinstance(container, dict):  # under another name
        container[_as_key(_odd(random))] = container.pop(key)
    elif change == 4:
        container.insert(key, copy.deepcopy(container[key]))
    else:
        container[key] = _as_text(container[key])[:2000] + random.choice(ODD_TEXTS)
    return value


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # a number with more digits than Python writes
        return "9" * 2000


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 2000:
        each = waiting.pop()
        keys = (
            list(each)
            if isinstance(each, dict)
            else range(len(each))
            if isinstance(each, list)
            else ()
        )
        for key in keys:
            found.append((each, key))
            waiting.append(each[key])
    return found


def _odd(random: Random) -> Any:
    kind = random.randrange(10)
    if kind < 3:
        return random.choice(ODD_NUMBERS[:7] if kind else ODD_NUMBERS)
    return copy.deepcopy(random.choice(ODD_VALUES)) if kind < 6 else random.choice(ODD_TEXTS)


def _as_key(value: Any) -> Any:
    return "key" if isinstance(value, (dict, list)) else value


def _changed_bytes(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    width = random.choice([0, 0, 1, 1, 2, 5, 20, 200])
    change = random.randrange(6)
    if change == 0 and at < len(data):
        return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]
    if change == 1:
        return data[:at] + data[at + width :]
    if change == 2:
        return data[:at] + data[at : at + width] * random.choice([2, 3, 50]) + data[at + width :]
    if change == 3:
        return (
            data[:at]
            + random.choice(ODD_TEXTS).encode("utf-8", "surrogatepass")
            + data[at + width :]
        )
    if change == 4:  # a line, moved
        lines = data.split(b"\n")
        lines.insert(random.randrange(len(lines) + 1), lines[random.randrange(len(lines))])
        return b"\n".join(lines)
    return data[:at] + random.choice(ODD_PIECES) + data[at + width :]
