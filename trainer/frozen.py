"""`@frozen`: a dataclass of values that do not change. `@mutable`: one whose values do.

Type checkers treat them as `@dataclass(frozen=True)` and `@dataclass`. At run time a class becomes
one when it is first used, since a process uses few of the classes that it imports, and only its
`__init__` is written for it; the other methods are shared. Python reads the fields and compiles
each method of a dataclass anew in every process, which took a fifth of the start of a play, and
instances of frozen ones cost twice as much.
"""

from __future__ import annotations

from _thread import RLock  # not `threading`, which takes 2 ms to import
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

_Class = TypeVar("_Class")
_FIELDS = "__dataclass_fields__"  # where the functions of `dataclasses` look for them
_making = RLock()  # one that makes a class makes those it inherits from


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_Class]) -> type[_Class]:
    _make_on_use(cls, {"__repr__": _repr, "__eq__": _eq, "__hash__": _hash})
    return cls


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[_Class]) -> type[_Class]:
    _make_on_use(cls, {"__repr__": _repr, "__eq__": _eq, "__hash__": None})
    return cls


def _make_on_use(cls: Any, methods: dict[str, Any]) -> None:
    def first_init(self: Any, *values: Any, **named: Any) -> None:
        _make(cls, first_init)
        cls.__init__(self, *values, **named)

    for name, method in {"__init__": first_init, **methods}.items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
    setattr(cls, _FIELDS, _FieldsOnUse(cls, first_init))


class _FieldsOnUse:
    """The fields of a class that is not a dataclass yet: whoever asks for them makes it one."""

    def __init__(self, cls: type, first_init: Any) -> None:
        self._cls, self._first_init = cls, first_init

    def __get__(self, instance: object, owner: type) -> Any:
        _make(self._cls, self._first_init)
        return getattr(owner, _FIELDS)


def _make(cls: Any, first_init: Any) -> None:
    """Make it a dataclass, once. A thread that wants to use it meanwhile waits here."""
    with _making:
        if type(cls.__dict__[_FIELDS]) is not _FieldsOnUse:
            return
        cls.__doc__ = cls.__doc__ or cls.__name__  # else its signature is worked out
        dataclass(init=False, repr=False, eq=False)(cls)
        if cls.__dict__["__init__"] is first_init:
            cls.__init__ = _init_of(cls)


def _init_of(cls: Any) -> Any:
    """What Python writes for a dataclass, but from the fields as they are."""
    parameters, lines = ["self"], list[str]()
    values: dict[str, Any] = {"_MISSING": MISSING}
    for each in fields(cls):
        name, value, default = each.name, each.name, f"_default_{each.name}"
        if each.default_factory is not MISSING:
            values[default] = each.default_factory
            value = (
                f"{default}() if {name} is _MISSING else {name}" if each.init else f"{default}()"
            )
            default = "_MISSING"
        elif each.default is not MISSING:
            values[default] = each.default
        else:
            default = ""
        if each.init:
            parameters.append(f"{name}={default}" if default else name)
        if each.init or value != name:
            lines.append(f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), values)
    made: Any = values["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"  # what a wrong call is told
    return made


def _repr(self: Any) -> str:
    cls: Any = type(self)
    shown = (f"{name}={getattr(self, name)!r}" for name in _names(cls, "repr"))
    return f"{cls.__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: object) -> Any:
    cls: Any = type(self)
    if not isinstance(other, cls) or other.__class__ is not cls:
        return NotImplemented
    read = _reader(cls)
    return read(self) == read(other)


def _hash(self: Any) -> int:
    cls: Any = type(self)
    return hash(_reader(cls)(self))


@cache
def _reader(cls: Any) -> Any:
    """Reads the fields that are compared, all at once."""
    names = _names(cls, "compare")
    return attrgetter(*names) if names else lambda value: ()


@cache
def _names(cls: Any, used_for: str) -> list[str]:
    return [each.name for each in fields(cls) if getattr(each, used_for)]
