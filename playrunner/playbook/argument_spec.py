"""Checks values against an argument spec as roles and validate_argument_spec write it: types,
choices, elements, required options, and options within options."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from playrunner.playbook import arguments
from playrunner.text.documents import json_object

_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([KMGTPEZY]?)(b|bit|B|byte)?\s*", re.IGNORECASE)
_POWERS = "KMGTPEZY"


def spec_errors(spec: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """What is wrong with the values, in the order Ansible tells it; empty when they fit."""
    unsupported: list[str] = []
    errors = _errors(spec, dict(given), (), {}, unsupported)
    if unsupported:
        supported = ", ".join(sorted(spec))
        errors.append(f"{', '.join(unsupported)}. Supported parameters include: {supported}.")
    return errors


def _errors(
    spec: Mapping[str, Any],
    values: dict[str, Any],
    path: tuple[str, ...],
    rules: Mapping[str, Any],
    unsupported: list[str],
) -> list[str]:
    """The errors of one level; `path` names the options around it, `rules` is the option with its
    conditions between options."""
    where = f" found in {' -> '.join(path)}" if path else ""
    unsupported += [".".join((*path, str(name))) for name in values if name not in _names(spec)]
    for name, option in spec.items():
        for alias in option.get("aliases") or ():
            if alias in values:
                values.setdefault(name, values.pop(alias))
    errors = [f"{text}{where}" for text in _exclusive(rules, values)]
    missing = [
        name for name, option in spec.items() if option.get("required") and values.get(name) is None
    ]
    if missing:
        errors.append(f"missing required arguments: {', '.join(missing)}{where}")
    for name, option in spec.items():
        if values.get(name) is None and option.get("default") is not None:
            values[name] = option["default"]
    errors += _type_errors(spec, values, where)
    errors += [text + where for text in _choice_errors(spec, values)]
    errors += [text + where for text in _conditions(rules, values)]
    for name, option in spec.items():
        if isinstance(option.get("options"), Mapping):
            errors += _inner_errors(name, option, values.get(name), path, unsupported)
    return errors


def _names(spec: Mapping[str, Any]) -> set[str]:
    aliases = (alias for option in spec.values() for alias in option.get("aliases") or ())
    return {*spec, *aliases}


def _inner_errors(
    name: str, option: Mapping[str, Any], value: Any, path: tuple[str, ...], unsupported: list[str]
) -> list[str]:
    if value is None:
        if not option.get("apply_defaults"):
            return []
        value = {}
    members = value if isinstance(value, list) else [value]
    return [
        error
        for member in members
        if isinstance(member, Mapping)
        for error in _errors(option["options"], dict(member), (*path, name), option, unsupported)
    ]


def _type_errors(spec: Mapping[str, Any], values: dict[str, Any], where: str) -> list[str]:
    """Values that cannot be read as their type; those that can are replaced by what they are."""
    errors = []
    for name, option in spec.items():
        if values.get(name) is None:
            continue
        kind = str(option.get("type") or "str")
        try:
            values[name] = _converted(values[name], kind)
        except ValueError as error:
            errors.append(f"argument '{name}' {_cannot(values[name], kind)}{where}: {error}")
            continue
        elements = option.get("elements")
        if elements and isinstance(values[name], list):
            for number, element in enumerate(values[name]):
                try:
                    values[name][number] = _converted(element, str(elements))
                except ValueError as error:
                    errors.append(
                        f"Elements value for option '{name}'{where}"
                        f" {_cannot(element, str(elements))}: {error}"
                    )
    return errors


def _cannot(value: Any, kind: str) -> str:
    return f"is of type {_type_name(value)} and we were unable to convert to {kind}"


def _choice_errors(spec: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    errors = []
    for name, option in spec.items():
        choices, value = option.get("choices"), values.get(name)
        if not choices or value is None:
            continue
        shown = ", ".join(map(str, choices))
        if isinstance(value, list):
            strange = [str(each) for each in value if each not in choices]
            if strange:
                errors.append(
                    f"value of {name} must be one or more of: {shown}. Got no match for:"
                    f" {', '.join(strange)}"
                )
        elif value not in choices:
            errors.append(f"value of {name} must be one of: {shown}, got: {value}")
    return errors


def _exclusive(rules: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    groups = rules.get("mutually_exclusive") or ()
    groups = [groups] if groups and isinstance(groups[0], str) else groups
    return [
        f"parameters are mutually exclusive: {'|'.join(group)}"
        for group in groups
        if sum(name in values for name in group) > 1
    ]


def _conditions(rules: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    def given(name: str) -> bool:
        return values.get(name) is not None

    errors = [
        f"parameters are required together: {', '.join(group)}"
        for group in rules.get("required_together") or ()
        if any(map(given, group)) and not all(map(given, group))
    ]
    errors += [
        f"one of the following is required: {', '.join(group)}"
        for group in rules.get("required_one_of") or ()
        if not any(map(given, group))
    ]
    for name, wanted, needed, *any_of in rules.get("required_if") or ():
        missing = [each for each in needed if not given(each)]
        enough = len(missing) < len(needed) if any_of and any_of[0] else not missing
        if values.get(name) == wanted and not enough:
            which = "any" if any_of and any_of[0] else "all"
            errors.append(
                f"{name} is {wanted} but {which} of the following are missing: {', '.join(missing)}"
            )
    for name, needed in (rules.get("required_by") or {}).items():
        missing = [each for each in arguments.convert(needed, list) if not given(each)]
        if given(name) and missing:
            errors.append(f"missing parameter(s) required by '{name}': {', '.join(missing)}")
    return errors


def _converted(value: Any, kind: str) -> Any:
    if kind not in _KINDS:
        raise ValueError(f"there is no type {kind!r}")
    return _KINDS[kind](value)


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else str(value)


def _whole(value: Any) -> int:
    try:
        if isinstance(value, float) and value != int(value):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f'"{value!r}" cannot be converted to an int') from None


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"<class '{_type_name(value)}'> cannot be converted to a float") from None


def _boolean(value: Any) -> bool:
    try:
        return arguments.as_bool(value)
    except ValueError:
        raise ValueError(f"The value {value!r} is not a valid boolean.") from None


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return list(value)
    if isinstance(value, (str, int, float)):
        return str(value).split(",")
    raise ValueError(f"<class '{_type_name(value)}'> cannot be converted to a list")


def _mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str):
        found = json_object(value) if value.strip().startswith("{") else None
        if found is not None:
            return found
        if "=" in value:
            return arguments.convert(value, dict)
        raise ValueError("dictionary requested, could not parse JSON or key=value")
    raise ValueError(f"<class '{_type_name(value)}'> cannot be converted to a dict")


def _size(value: Any) -> int:
    found = _SIZE.fullmatch(str(value))
    if not found:
        raise ValueError(f"{value!r} cannot be read as a size")
    power = _POWERS.find(found[2].upper()) + 1 if found[2] else 0
    return int(float(found[1]) * 1024**power)


_KINDS: dict[str, Callable[[Any], Any]] = {
    "str": _text,
    "path": lambda value: os.path.expandvars(os.path.expanduser(_text(value))),
    "int": _whole,
    "float": _number,
    "bool": _boolean,
    "list": _list,
    "dict": _mapping,
    "bytes": _size,
    "bits": _size,
    "raw": lambda value: value,
    "any": lambda value: value,
    "json": lambda value: value,
    "jsonarg": lambda value: value,
    "sid": _text,
}


def _type_name(value: Any) -> str:
    kinds = (str, bool, int, float, list, dict)
    return next((kind.__name__ for kind in kinds if isinstance(value, kind)), type(value).__name__)
