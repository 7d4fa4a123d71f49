"""What templates may reach of a Python object: its data and its plain methods, never the
interpreter behind it."""

from __future__ import annotations

from types import BuiltinMethodType, MethodType
from typing import Any

from jinja2.sandbox import SandboxedFormatter, is_internal_attribute
from jinja2.utils import missing as nothing

from playrunner.text.written import DecryptedText, Written

_METHODS = (MethodType, BuiltinMethodType)
_DATA = frozenset(
    {dict, list, tuple, str, Written, DecryptedText, int, float, bool, type(None)}
)  # nothing internal but by _names


def attribute(value: Any, name: str) -> Any:
    """An attribute, or `nothing` where there is none that a template may have."""
    if name[:1] == "_" or (type(value) not in _DATA and is_internal_attribute(value, name)):
        return nothing
    if isinstance(value, dict) and not hasattr(dict, name):
        return nothing  # what a loaded mapping knows of its file is not its data
    found = getattr(value, name, nothing)
    if isinstance(found, _METHODS) and name in ("format", "format_map") and isinstance(value, str):
        return _Format(value, name)
    return found


def item(value: Any, key: Any) -> Any:
    """An entry of a mapping or list, or `nothing`."""
    try:
        return value[key]
    except (AttributeError, TypeError, LookupError):
        return nothing


class _Format:
    """`'...'.format()` whose fields reach no further than templates do; `{0.x}` reads any attribute
    in Python."""

    def __init__(self, text: str, name: str) -> None:
        self._text, self.__name__ = text, name

    def __call__(self, *given: Any, **named: Any) -> str:
        formatter = SandboxedFormatter(_Fields())  # type: ignore[arg-type]  # it only asks for parts of values
        if self.__name__ == "format":
            return formatter.vformat(self._text, given, named)
        if named or len(given) != 1:
            raise TypeError("format_map() takes one mapping")
        return formatter.vformat(self._text, (), given[0])


class _Fields:
    def getattr(self, value: Any, name: str) -> Any:
        return _there(attribute(value, name), name)

    def getitem(self, value: Any, key: Any) -> Any:
        return _there(item(value, key), key)


def _there(found: Any, name: object) -> Any:
    if found is nothing:
        raise ValueError(f"the field {name!r} is not there, or out of a template's reach")
    return found
