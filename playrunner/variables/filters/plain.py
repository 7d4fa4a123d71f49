"""The last step of every template: what came out becomes plain data, and what is not data is
refused."""

from __future__ import annotations

from operator import is_
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from jinja2 import Undefined
from markupsafe import Markup

from playrunner.errors import StepFailed
from playrunner.text.written import DecryptedText, Plain, TemplateText, Written

_ATOMS = frozenset({str, Written, DecryptedText, int, float, bool, type(None)})
_NOT_VALUES = (FunctionType, MethodType, BuiltinMethodType, type)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


def plain(value: Any) -> Any:
    """The value as data: lists for tuples and generators, text for marked-up text; complains of
    what is undefined."""
    kind = type(value)
    if kind in _ATOMS or kind is Plain:
        return value
    if kind is list or isinstance(value, list):
        done = [each if type(each) in _ATOMS else plain(each) for each in value]
        return value if all(map(is_, done, value)) else done
    if isinstance(value, dict):
        members = {
            key: each if type(each) in _ATOMS else plain(each) for key, each in value.items()
        }
        return value if all(map(is_, members.values(), value.values())) else members
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    if isinstance(value, (Markup, TemplateText)):
        return str(value)  # what a template gave is not a template again
    if isinstance(value, _NOT_VALUES):
        name = getattr(value, "__name__", "?")
        raise StepFailed(
            f"{name!r} is a function here, not a value; a key of that name is read with [{name!r}]"
        )
    if isinstance(value, tuple | set | frozenset | range) or iterates(value):
        return [plain(each) for each in value]
    return value


def defined_parts(value: Any) -> Any:
    """The value as data, without what is undefined in lists and mappings."""
    if isinstance(value, dict):
        return {key: defined_parts(each) for key, each in value.items() if not _undefined(each)}
    if isinstance(value, (list, tuple)) or iterates(value):
        return [defined_parts(each) for each in value if not _undefined(each)]
    return plain(value)


def _undefined(value: object) -> bool:
    return isinstance(value, Undefined)


def with_newlines(source: str, value: Any) -> Any:
    """Text ends with as many newlines as its template; jinja drops one, and trimmed blocks take
    theirs."""
    if isinstance(value, str) and source.endswith("\n"):
        wanted = len(source) - len(source.rstrip("\n"))
        there = len(value) - len(value.rstrip("\n"))
        return value + "\n" * (wanted - there)
    return value


def iterates(value: object) -> bool:
    """Whether a value is a generator or a view, which templates treat as a list."""
    return hasattr(type(value), "__next__") or isinstance(value, _VIEWS)
