"""What the values of expressions do: operators, functions, methods and macros, with the errors that
a server has for them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


class Failed(Exception):
    """An expression that has no value; the message is the one of a server."""


@dataclass(frozen=True)
class Maybe:
    """What `.?` selects: a value, or none."""

    value: Any = None
    there: bool = False


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Failed("no such overload")
    return value


def selected(holder: Any, name: str, optional: bool) -> Any:
    if isinstance(holder, Maybe):
        if not holder.there:
            return holder
        holder, optional = holder.value, True
    if not isinstance(holder, dict):
        raise Failed("no such overload" if holder is not None else f"no such key: {name}")
    if optional:
        return Maybe(holder[name], True) if name in holder else Maybe()
    if name not in holder:
        raise Failed(f"no such key: {name}")
    return holder[name]


def operated(sign: str, first: Any, second: Any) -> Any:
    try:
        return _OPERATORS[sign](first, second)
    except ZeroDivisionError:
        raise Failed("division by zero") from None
    except TypeError:
        raise Failed("no such overload") from None


def _at(holder: Any, key: Any) -> Any:
    if isinstance(holder, dict):
        return selected(holder, key, False)
    if not isinstance(key, int) or not -1 < key < len(holder):
        raise Failed(f"index out of bounds: {key}")
    return holder[key]


def _is_in(member: Any, holder: Any) -> bool:
    if not isinstance(holder, list | dict):
        raise Failed("no such overload")
    return member in holder


def _quotient(first: Any, second: Any) -> Any:
    """Of whole numbers a whole one, rounded towards zero."""
    exact = first / second
    return int(exact) if isinstance(first, int) else exact


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": _is_in,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": operator.mod,
    "[]": _at,
}


def members(value: Any) -> list[Any]:
    """What macros go through: items of a list, keys of a map."""
    if not isinstance(value, list | dict):
        raise Failed("no such overload")
    return list(value)


def gathered(macro: str, parts: Iterable[tuple[Any, Callable[[], Any]]]) -> Any:
    if macro == "map":
        return [evaluated() for _, evaluated in parts]
    if macro == "filter":
        return [one for one, evaluated in parts if truth(evaluated())]
    if macro == "exists_one":
        return sum(truth(evaluated()) for _, evaluated in parts) == 1
    decides, failed = macro == "exists", None
    for _, evaluated in parts:
        try:
            if truth(evaluated()) is decides:
                return decides
        except Failed as error:
            failed = failed or error
    if failed:
        raise failed
    return not decides


def called(name: str, subject: Any, arguments: list[Any]) -> Any:
    try:
        return METHODS[name](subject, *arguments)
    except (TypeError, AttributeError):
        raise Failed("no such overload") from None
    except re.error as error:
        raise Failed(f"error parsing regexp: {error}") from None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _whole(value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise Failed(f"type conversion error from '{value}' to 'int'") from None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": len,
    "string": _text,
    "int": _whole,
    "double": float,
    "bool": lambda value: value in (True, "true"),
}
METHODS: dict[str, Callable[..., Any]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": lambda text, part: part in text,
    "matches": lambda text, pattern: re.search(pattern, text) is not None,
    "size": len,
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "trim": str.strip,
    "split": lambda text, separator: text.split(separator),
    "join": lambda items, separator="": separator.join(items),
    "replace": str.replace,
    "hasValue": lambda maybe: maybe.there,
    "orValue": lambda maybe, other: maybe.value if maybe.there else other,
}
