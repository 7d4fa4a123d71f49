"""What a module takes: its annotated fields checked against what a playbook gives, in the
playbook's words."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, get_args, get_origin

from playrunner.errors import BadArgument, BadInput, FormerArgument, Place
from playrunner.frozen import frozen
from playrunner.hostside.module import Module
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.documents import parse_json
from playrunner.text.written import is_template

_REQUIRED = object()
_INCLUDES = tuple(f"playrunner.modules.play.{verb}_" for verb in ("import", "include"))
_YES = frozenset({"yes", "on", "1", "true", "t", "y"})
_NO = frozenset({"no", "off", "0", "false", "f", "n", ""})


@frozen
class Field:
    """One argument of a module."""

    name: str
    kind: Any
    default: Any

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED


_READ: dict[type[Module], dict[str, Field]] = {}
_NEEDED: dict[type[Module], tuple[str, ...]] = {}


def fields(module: type[Module]) -> dict[str, Field]:
    """The module's arguments, from its class body and its parents'."""
    if module in _READ:
        return _READ[module]
    # Host modules never import typing at run time, so its names are supplied here.
    hints = typing.get_type_hints(module, localns={**vars(typing), "State": dict, "Change": object})
    _READ[module] = {
        name: Field(name, kind, getattr(module, name, _REQUIRED))
        for name, kind in hints.items()
        if get_origin(kind) is not ClassVar and kind is not ClassVar
    }
    return _READ[module]


def required(module: type[Module]) -> tuple[str, ...]:
    """The arguments that a module cannot do without."""
    if module not in _NEEDED:
        _NEEDED[module] = tuple(name for name, field in fields(module).items() if field.required)
    return _NEEDED[module]


@cache
def _form(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """The origin and the arguments of a type; every step of every host asks for the same few."""
    return get_origin(kind), get_args(kind)


def checked_names(
    module: type[Module], values: Mapping[str, Any], label: str, place: Place
) -> dict[str, Any]:
    """The arguments under their own names; an unknown or missing one is bad input. Values are not
    looked at."""
    by_name = fields(module)
    result = {}
    for name, value in values.items():
        target = module.aliases.get(name, name)
        if target not in by_name:
            hint = did_you_mean(
                name, [*by_name, *module.aliases], f"it takes {', '.join(sorted(by_name))}", 0.5
            )
            kind = FormerArgument if name in module.former else BadArgument
            unsupported = _unsupported(module, values)
            text = f'{label} has no argument "{name}"'
            if module.__module__.startswith(_INCLUDES):
                text = unsupported
            raise kind(f"{text}{hint}", _line_of(values, name, place), unsupported)
        result[target] = value
    missing = [name for name in required(module) if name not in result]
    if missing:
        raise BadArgument(
            f'{label} needs the argument "{missing[0]}"', place, missing_text(missing, module)
        )
    return result


def missing_text(names: list[str], module: type[Module]) -> str:
    """The message of a step that lacks required arguments."""
    if names == [module.free_form]:
        return f"one of the following is required: free-form, {names[0]}"
    return f"missing required arguments: {', '.join(sorted(names))}"


def _unsupported(module: type[Module], values: Mapping[str, Any]) -> str:
    known = fields(module)
    unknown = sorted(str(name) for name in values if module.aliases.get(name, name) not in known)
    by_name = {name: [name] for name in known}
    for alias, name in module.aliases.items():
        by_name.setdefault(name, [name]).append(alias)
    supported = ", ".join(
        name if len(names) == 1 else f"{name} ({', '.join(sorted(names[1:]))})"
        for name, names in sorted(by_name.items())
    )
    if ".modules.play." in module.__module__:
        leaf = module.__module__.rpartition(".")[2].rstrip("_")
        return f"Invalid options for {leaf}: {','.join(unknown)}"
    if unknown == ["expand_argument_vars"]:  # of command, which shell lacks
        return f"Unsupported parameters for (shell) module: {unknown[0]}"
    called = f"ansible.legacy.{module.__module__.rpartition('.')[2]}"
    return (
        f"Unsupported parameters for ({called}) module: {', '.join(unknown)}."
        f" Supported parameters include: {supported}."
    )


def converted(
    module: type[Module], values: Mapping[str, Any], label: str, place: Place, final: bool = False
) -> dict[str, Any]:
    """Values in the types the module asks for; before they are final, those that are templates are
    left alone."""
    known = fields(module)
    result = {}
    for name, value in values.items():
        try:
            result[name] = (
                value if not final and is_template(value) else convert(value, known[name].kind)
            )
        except ValueError as error:
            raise BadArgument(
                f'{label}: argument "{name}" {error}',
                _line_of(values, name, place),
                _unusable(name, value, known[name].kind),
            ) from None
    check = getattr(module, "check", None)
    if check and final:
        message = check(result)
        if message:
            raise BadArgument(f"{label}: {message}", place, message)
    return result


def _unusable(name: str, value: Any, kind: Any) -> str:
    kinds = get_args(kind) if get_origin(kind) in (typing.Union, UnionType) else (kind,)
    for choice in kinds:
        if get_origin(choice) is Literal:
            allowed = ", ".join(sorted(map(str, get_args(choice))))
            return f"value of {name} must be one of: {allowed}, got: {value}"
    wanted = next((each for each in kinds if each is not NoneType), str)
    called = getattr(get_origin(wanted) or wanted, "__name__", str(wanted))
    return (
        f"argument '{name}' is of type {type(value).__mro__[-2].__name__} and we were unable to"
        f" convert to {called}"
    )


def convert(value: Any, kind: Any) -> Any:
    """`value` as `kind`, by the conversions Ansible users count on; ValueError says what was
    expected."""
    scalar = _SCALARS.get(kind)
    if scalar:
        return scalar(value)
    if kind is Any:
        return value
    origin, inner = _form(kind)
    if origin in (typing.Union, UnionType):
        return _convert_union(value, inner)
    if origin is Literal:
        return _convert_choice(value, inner)
    if kind is list or origin is list:
        return [convert(item, inner[0]) if inner else item for item in _as_list(value)]
    if kind is dict or origin is dict:
        return _as_dict(value)
    raise KeyError(kind)


def _convert_union(value: Any, kinds: tuple[Any, ...]) -> Any:
    if value is None and NoneType in kinds:
        return None
    real = [kind for kind in kinds if kind is not NoneType]
    for kind in real:
        origin = _form(kind)[0]
        if isinstance(value, origin or kind if kind is not Any and origin is not Literal else ()):
            return convert(value, kind)
    problems = []
    for kind in real:
        try:
            return convert(value, kind)
        except ValueError as error:
            problems.append(str(error))
    raise ValueError(problems[0])


def _convert_choice(value: Any, choices: tuple[Any, ...]) -> Any:
    # YAML reads a bare yes or no as a bool; the choice may be spelled as a word.
    by_text = {str(choice): choice for choice in choices}
    if isinstance(value, bool):
        for word in ("yes", "on", "true") if value else ("no", "off", "false"):
            if word in by_text:
                return by_text[word]
    if str(value) in by_text:
        return by_text[str(value)]
    hint = did_you_mean(value, by_text, f"one of {', '.join(by_text)}", 0.5)
    raise ValueError(f"cannot be {value!r}{hint}")


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value else []
    if isinstance(value, (int, float)):
        return [value]
    raise ValueError(f"must be a list, not {_kind_of(value)}")


def _as_dict(value: Any) -> dict[Any, Any]:
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        import shlex

        text = value.strip()
        if text.startswith("{"):
            return _json_object(text)
        pairs = [word.partition("=") for word in shlex.split(text.replace(",", " "))]
        if pairs and all(equals for _, equals, _ in pairs):
            return {key: word for key, _, word in pairs}
    raise ValueError(f"must be a mapping, not {_kind_of(value)}")


def _json_object(text: str) -> dict[Any, Any]:
    try:
        loaded: dict[Any, Any] = parse_json(text, "")
    except BadInput as error:
        raise ValueError(f"is {error.message}") from None
    return loaded


def _as_str(value: Any) -> str:
    if isinstance(value, (dict, list)):
        import json

        return json.dumps(value, default=str)  # a date of YAML is none of JSON's values
    if value is None:
        return ""
    return str(value)


def as_bool(value: Any) -> bool:
    """Ansible's reading of yes and no."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise ValueError(f"must be yes or no, not {value!r}")


def _as_number(kind: type[int] | type[float]) -> Any:
    def read(value: Any) -> Any:
        try:
            if kind is int and isinstance(value, str) and value.strip().lstrip("+-").isdigit():
                return int(value)
            number = float(value) if isinstance(value, (str, float)) else kind(value)
            if number != number or (kind is int and number != int(number)):
                raise ValueError
            return kind(number)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"must be a number, not {value!r}") from None

    return read


_SCALARS = {str: _as_str, bool: as_bool, int: _as_number(int), float: _as_number(float)}


def _kind_of(value: Any) -> str:
    return {"Located": "a mapping", "dict": "a mapping", "NoneType": "empty"}.get(
        type(value).__name__, f"{value!r}"
    )


def _line_of(given: Mapping[str, Any], name: str, place: Place) -> Place:
    lines = getattr(given, "key_lines", {})
    return Place(place.file, lines.get(name, place.line))
