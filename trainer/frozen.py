"""`@frozen`: a dataclass of values that do not change.

Type checkers treat it as `@dataclass(frozen=True)`. At run time only its `__init__` is written for
the class; the other methods are shared. Python compiles each method of a frozen dataclass anew in
every process, which took an eighth of the start of a play, and its instances cost twice as much.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_Class]) -> type[_Class]:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else its signature is worked out, which costs more
    made = dataclass(eq=False, repr=False)(cls)
    for method in (__repr__, __eq__, __hash__):
        if method.__name__ not in cls.__dict__:
            setattr(made, method.__name__, method)
    return made


def __repr__(self: Any) -> str:
    cls: Any = type(self)
    shown = (f"{name}={getattr(self, name)!r}" for name in _names(cls, "repr"))
    return f"{cls.__qualname__}({', '.join(shown)})"


def __eq__(self: Any, other: object) -> bool:
    cls: Any = type(self)
    if not isinstance(other, cls) or other.__class__ is not cls:
        return NotImplemented
    read = _reader(cls)
    return bool(read(self) == read(other))


def __hash__(self: Any) -> int:
    cls: Any = type(self)
    return hash(_reader(cls)(self))


@cache
def _reader(cls: Any) -> Any:
    """Reads the fields that are compared, all at once."""
    names = _names(cls, "compare")
    return attrgetter(*names) if names else lambda value: ()


@cache
def _names(cls: Any, used_for: str) -> list[str]:
    fields = cls.__dataclass_fields__.values()
    return [each.name for each in fields if getattr(each, used_for)]
