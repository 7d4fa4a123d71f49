"""What a template sees in place of a value that is not there: it can be asked for parts and
replaced by `default`, and anything else done with it says which name is undefined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from jinja2 import Undefined
from jinja2.utils import missing as nothing

from playrunner.errors import PlayrunnerError, UndefinedVariable
from playrunner.text.did_you_mean import nearest


class Missing(Undefined):
    """An undefined value; parts of it are undefined too, so `a.b.c | default(...)` works when `a`
    is missing."""

    __slots__ = ("_known_names",)

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = nothing,
        name: Any = None,
        exc: Any = UndefinedVariable,
        known_names: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        super().__init__(hint, obj, name, exc)
        self._known_names = known_names

    @property
    def _undefined_message(self) -> str:
        name, owner = self._undefined_name, self._undefined_obj
        if self._undefined_hint:
            return self._undefined_hint
        if owner is nothing:
            return f"{name!r} is undefined{did_you_mean(name, self._known_names())}"
        if isinstance(owner, dict):
            return (
                f"object of type 'dict' has no attribute {name!r}"
                f"{did_you_mean(name, owner) or _keys_of(owner)}"
            )
        if isinstance(owner, list | tuple) and isinstance(name, int):
            return f"object of type 'list' has no attribute {name}; it has {len(owner)} items"
        return f"object of type {type(owner).__name__!r} has no attribute {name!r}"

    def __getattr__(self, name: str) -> Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Missing:  # type: ignore[override]
        return self

    def _fail_with_undefined_error(self, *_args: object, **_kwargs: object) -> NoReturn:
        error = self._undefined_exception(self._undefined_message)
        if isinstance(error, UndefinedVariable):
            error.name = str(self._undefined_name or "")
        raise error

    def _stop(self, *_args: object, **_kwargs: object) -> NoReturn:
        self._fail_with_undefined_error()

    __str__ = __iter__ = __len__ = __bool__ = __hash__ = __contains__ = _stop
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __call__ = _stop
    # jinja2's own do not come to the error of a subclass, nor name the variable.
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _stop
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _stop
    __pow__ = __rpow__ = __pos__ = __neg__ = __int__ = __float__ = __complex__ = _stop


class _Failing(Missing):
    """A value that is there but cannot be had: it has no default, and every use of it fails."""

    __slots__ = ("_error",)

    def __init__(self, error: PlayrunnerError) -> None:
        super().__init__(hint=str(error))
        self._error = error

    def _fail_with_undefined_error(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise self._error


class Pending(_Failing):
    """A value no step has produced yet. It has no default: it may still come."""

    __slots__ = ()


class Undecryptable(_Failing):
    """A value encrypted with a vault password that is not given."""

    __slots__ = ()


def is_missing(value: object) -> bool:
    """Whether nothing is there; an error when that is not known yet."""
    if isinstance(value, _Failing):
        value._stop()
    return isinstance(value, Undefined)


def require(values: Iterable[object]) -> None:
    """Complain about the first undefined value."""
    for value in values:
        if isinstance(value, Undefined):
            value._fail_with_undefined_error()


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """`; did you mean 'x'?` when a known name is close, else nothing."""
    close = nearest(name, known)
    return f"; did you mean {close!r}?" if close else ""


def _keys_of(owner: dict[Any, Any]) -> str:
    if not owner:
        return "; it is empty"
    shown = ", ".join(str(key) for key in _first(owner, 8))
    return f"; it has {shown}{', ...' if len(owner) > 8 else ''}"


def _first(values: Iterable[object], count: int) -> Iterator[object]:
    for index, value in enumerate(values):
        if index == count:
            return
        yield value
