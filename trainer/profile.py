"""Profiles: YAML files that inherit from one another, with dotted overrides on top.

Every complaint names the file and line, and the nearest thing that would have been right.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trainer import config, own_script, profile_text
from trainer.config import Profile
from trainer.errors import BadInput, nearest
from trainer.profile_text import Located, shown
from trainer.setting_names import elsewhere

BUNDLED = Path(__file__).parent / "profiles"
PROJECT = Path("profiles")  # of the project one stands in; before those that are bundled
MOST_FILES = 50  # that one profile inherits from, directly or not


def read_profile(name: str, overrides: Iterable[str] = ()) -> Profile:
    """The profile of a file or bundled name, with `train.steps=100` style overrides applied;
    without a name, overrides alone."""
    merged = _inherited(_find(name), (), []) if name else Located()
    for text in overrides:
        merged = _merge(merged, _override(text))
    profile = _build(Profile, own_script.settings(merged), "")
    assert isinstance(profile, Profile)
    return profile


def from_plain(values: dict[str, Any]) -> Profile:
    """The profile a checkpoint was written with."""
    if not isinstance(values, dict):
        raise BadInput(f"the checkpoint's profile is a mapping of settings, not {shown(values)}")
    profile = _build(Profile, _placed(values), "")
    assert isinstance(profile, Profile)
    return profile


def _find(name: str, beside: Path | None = None, location: str = "") -> Path:
    candidates = (
        [Path(name), PROJECT / f"{name}.yaml"]
        if beside is None
        else [beside / name, beside / f"{name}.yaml"]
    )
    try:
        for path in [*candidates, BUNDLED / f"{name}.yaml", BUNDLED / name]:
            if path.is_file():
                return path
    except (OSError, ValueError) as error:  # a name that no file can have
        raise BadInput(
            f"{location}no profile can be named {shown(name)}:"
            f" {getattr(error, 'strerror', None) or error}"
        ) from None
    raise BadInput(
        f'{location}no profile "{name[:100]}"'
        + nearest(name[:100], [path.stem for path in BUNDLED.glob("*.yaml")])
    )


def _inherited(path: Path, children: tuple[Path, ...], read: list[Path]) -> Located:
    real = path.resolve()
    if real in children:
        raise BadInput(
            f"{path}: inherits from itself through {' -> '.join(child.name for child in children)}"
        )
    read.append(path)
    if len(read) > MOST_FILES:
        raise BadInput(f"{path}: more than {MOST_FILES} profiles are inherited from")
    own = profile_text.read(path)
    merged = Located()
    for parent in _parents(own):
        found = _find(parent, path.parent, f"{own.location('inherit')}: ")
        merged = _merge(merged, _inherited(found, (*children, real), read))
    own.pop("inherit", None)
    return _merge(merged, own)


def _parents(own: Located) -> list[str]:
    given = own.get("inherit", [])
    named = [given] if isinstance(given, str) else given
    if not isinstance(named, list) or not all(isinstance(one, str) and one for one in named):
        raise BadInput(
            f"{own.location('inherit')}: inherit is the name of a profile, or a list of names, not"
            f" {shown(given)}"
        )
    return named


def _placed(values: dict[str, Any]) -> Located:
    return Located(
        (
            (key, _placed(value) if isinstance(value, dict) else value)
            for key, value in values.items()
        ),
        dict.fromkeys(values, "the checkpoint's profile"),
    )


def _override(text: str) -> Located:
    dotted, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f'--set {text}: write it as name=value, as in "train.steps=100"')
    keys, location = dotted.strip().split("."), f"--set {shown(text)[1:-1]}"
    if len(keys) > profile_text.MOST_NESTED:
        raise BadInput(f"{location}: no setting is {len(keys)} levels deep")
    try:
        inner: Any = profile_text.parse(value, "")
    except BadInput:
        inner = value
    for key in reversed(keys):
        inner = Located({key: inner}, {key: location})
    return typing.cast(Located, inner)


def _merge(under: Located, over: Located) -> Located:
    merged = Located(under, {**under.locations, **over.locations})
    for key, value in over.items():
        below = under.get(key)
        merged[key] = (
            _merge(below, value)
            if isinstance(below, Located) and isinstance(value, Located)
            else value
        )
    return merged


def _build(kind: type, values: Located, path: str) -> Any:
    fields = {each.name for each in dataclasses.fields(kind)}
    hints = _hints(kind)
    given = {}
    for key, value in values.items():
        if key not in fields:
            what = f'"{path}{key}"' if path else f'"{key}"'
            hint = (not path and elsewhere(key)) or nearest(key, sorted(fields))
            raise BadInput(f"{values.location(key)}: there is no setting {what}{hint}")
        if hints[key] is config.Fast and not isinstance(value, dict):  # `fast: off`
            value = Located({"mode": value}, {"mode": values.location(key)})
        try:
            given[key] = _convert(hints[key], value, f"{path}{key}.")
        except (TypeError, ValueError) as error:
            raise BadInput(f"{values.location(key)}: {path}{key} {error}") from None
    return kind(**given)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, vars(config))


def _convert(hint: Any, value: Any, path: str) -> Any:
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Located):
            raise TypeError(f"is a group of settings, not {shown(value)}")
        return _build(typing.cast(type, hint), value, path)
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return _choice(typing.get_args(hint), value)
    if origin is tuple:
        return _sequence(typing.get_args(hint), value, path)
    if origin is dict:
        if (
            value is None
        ):  # `resources: null` forgets what was inherited; an empty mapping would only add nothing
            return {}
        if not isinstance(value, dict):
            raise TypeError(f"is a mapping, not {shown(value)}")
        wanted = typing.get_args(hint)[1]
        return {str(key): str(each) if wanted is str else each for key, each in value.items()}
    return _plain(hint, value)


def _choice(choices: tuple[Any, ...], value: Any) -> Any:
    # YAML reads a bare `off` as false, and `on` as true.
    value = "off" if value is False and "off" in choices else value
    value = "on" if value is True and "on" in choices else value
    if not any(type(value) is type(one) and value == one for one in choices):
        named = (str(one).lower() if isinstance(one, bool) else str(one) for one in choices)
        raise ValueError(f"is one of {', '.join(named)}, not {shown(value)}")
    return value


def _sequence(kinds: tuple[Any, ...], value: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"is a list, not {shown(value)}")
    if kinds[-1] is Ellipsis:
        return tuple(_convert(kinds[0], each, path) for each in value)
    if len(value) != len(kinds):
        raise ValueError(f"takes {len(kinds)} values, not {len(value)}")
    return tuple(_convert(kind, each, path) for kind, each in zip(kinds, value, strict=True))


def _plain(kind: type, value: Any) -> Any:
    if kind is float and not isinstance(value, bool):
        try:
            found = float(value)  # text too: YAML 1.1 reads 6e-4 as text, since it has no dot
            if math.isfinite(found):
                return found
        except (TypeError, ValueError, OverflowError):
            pass
        raise TypeError(f"is a number, not {shown(value)}")
    if kind is int and isinstance(value, str) and value.replace("_", "").isdigit():
        return int(value)
    if kind is str and value is None:
        return ""
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if type(value) is not kind:
        raise TypeError(f"is {_NAMES[kind]}, not {shown(value)}")
    return value


_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
