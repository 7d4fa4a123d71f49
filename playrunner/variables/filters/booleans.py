"""Filters that decide: bool, ternary, default, mandatory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.errors import StepFailed
from playrunner.variables.filters.undefined import Missing, is_missing

FALSE_WORDS = frozenset({"no", "off", "0", "false", "n", "f", ""})
_TRUE_WORDS = frozenset({"yes", "on", "1", "true"})


def to_bool(value: Any) -> bool:
    """Yes for true, 1 and the words yes, on, true; no for everything else."""
    if isinstance(value, str):
        return value.lower() in _TRUE_WORDS
    return bool(value == 1)


def ternary(value: Any, true_value: Any, false_value: Any, none_value: Any = None) -> Any:
    """One of two values by the truth of a third; another one for none when given."""
    if value is None and none_value is not None:
        return none_value
    return true_value if value else false_value


def default(value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    """The value, or another when it is undefined (with `boolean`: or empty, zero or false)."""
    if is_missing(value) or (boolean and not value):
        return default_value
    return value


def mandatory(value: Any, msg: str | None = None) -> Any:
    """The value; a failure with the given message when it is undefined."""
    if is_missing(value):
        name = value._undefined_name if isinstance(value, Missing) else None
        what = f"mandatory variable {name!r}" if name else "a mandatory value"
        raise StepFailed(msg or f"{what} is not defined")
    return value


FILTERS: dict[str, Callable[..., Any]] = {
    "bool": to_bool,
    "ternary": ternary,
    "default": default,
    "d": default,
    "mandatory": mandatory,
}
