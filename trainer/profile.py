"""Profiles: YAML files that inherit from one another, with dotted overrides on top.

Every complaint names the file and line, and the nearest thing that would have been right.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from trainer import config
from trainer.config import Profile
from trainer.errors import BadInput, nearest

BUNDLED = Path(__file__).parent / "profiles"


def read_profile(name: str, overrides: Iterable[str] = ()) -> Profile:
    """The profile of a file or bundled name, with `train.steps=100` style overrides applied."""
    merged = _inherited(_find(name), ())
    for text in overrides:
        merged = _merge(merged, _override(text))
    found = _build(Profile, merged, "")
    assert isinstance(found, Profile)
    return found


def from_plain(values: dict[str, Any]) -> Profile:
    """The profile a checkpoint was written with."""
    found = _build(Profile, _placed(values), "")
    assert isinstance(found, Profile)
    return found


class Located(dict[str, Any]):
    """A mapping that knows where each of its keys was written."""

    places: dict[str, str]

    def place(self, key: str) -> str:
        return self.places[key]


def _find(name: str, beside: Path | None = None) -> Path:
    candidates = [Path(name)] if beside is None else [beside / name, beside / f"{name}.yaml"]
    for path in [*candidates, BUNDLED / f"{name}.yaml", BUNDLED / name]:
        if path.is_file():
            return path
    raise BadInput(f'no profile "{name}"' + nearest(name, [path.stem for path in BUNDLED.glob("*.yaml")]))


def _inherited(path: Path, children: tuple[Path, ...]) -> Located:
    if path in children:
        raise BadInput(f"{path}: inherits from itself through {' -> '.join(child.name for child in children)}")
    own = _read(path)
    parents = own.pop("inherit", [])
    merged = Located()
    merged.places = {}
    for parent in [parents] if isinstance(parents, str) else parents:
        merged = _merge(merged, _inherited(_find(str(parent), path.parent), (*children, path)))
    return _merge(merged, own)


def _read(path: Path) -> Located:
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        return _located(node, loader, str(path)) if node else _located(yaml.MappingNode("", []), loader, str(path))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise BadInput(f"{path}:{line}: not valid YAML: {error.problem or error.context}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None


def _located(node: yaml.Node, loader: Any, file: str) -> Located:
    if not isinstance(node, yaml.MappingNode):
        raise BadInput(f"{file}:{node.start_mark.line + 1}: a profile is a mapping of settings")
    found = Located()
    found.places = {}
    for key_node, value_node in node.value:
        key = str(loader.construct_object(key_node))
        found.places[key] = f"{file}:{key_node.start_mark.line + 1}"
        if isinstance(value_node, yaml.MappingNode):
            found[key] = _located(value_node, loader, file)
        else:
            found[key] = loader.construct_object(value_node, deep=True)
    return found


def _placed(values: dict[str, Any]) -> Located:
    found = Located((key, _placed(value) if isinstance(value, dict) else value) for key, value in values.items())
    found.places = dict.fromkeys(values, "the checkpoint's profile")
    return found


def _override(text: str) -> Located:
    dotted, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f'--set {text}: write it as name=value, as in "train.steps=100"')
    try:
        inner: Any = yaml.safe_load(value)
    except yaml.YAMLError:
        inner = value
    for key in reversed(dotted.strip().split(".")):
        outer = Located()
        outer.places = {key: f"--set {text}"}
        outer[key] = inner
        inner = outer
    return typing.cast(Located, inner)


def _merge(under: Located, over: Located) -> Located:
    merged = Located(under)
    merged.places = {**under.places, **over.places}
    for key, value in over.items():
        below = under.get(key)
        merged[key] = _merge(below, value) if isinstance(below, Located) and isinstance(value, Located) else value
    return merged


def _build(kind: type, values: Located, path: str) -> Any:
    fields = {each.name for each in dataclasses.fields(kind)}
    hints = typing.get_type_hints(kind, vars(config))
    given = {}
    for key, value in values.items():
        if key not in fields:
            what = f'"{path}{key}"' if path else f'"{key}"'
            raise BadInput(f"{values.place(key)}: there is no setting {what}{nearest(key, sorted(fields))}")
        try:
            given[key] = _convert(hints[key], value, f"{path}{key}.")
        except (TypeError, ValueError) as error:
            raise BadInput(f"{values.place(key)}: {path}{key} {error}") from None
    return kind(**given)


def _convert(hint: Any, value: Any, path: str) -> Any:
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Located):
            raise TypeError(f"is a group of settings, not {value!r}")
        return _build(typing.cast(type, hint), value, path)
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return _choice(typing.get_args(hint), value)
    if origin is tuple:
        return _sequence(typing.get_args(hint), value, path)
    if origin is dict:
        if value is None:  # `resources: null` forgets what was inherited; an empty mapping would only add nothing
            return {}
        if not isinstance(value, dict):
            raise TypeError(f"is a mapping, not {value!r}")
        wanted = typing.get_args(hint)[1]
        return {str(key): str(each) if wanted is str else each for key, each in value.items()}
    return _plain(hint, value)


def _choice(choices: tuple[Any, ...], value: Any) -> Any:
    # YAML reads a bare `off` as false.
    value = "off" if value is False and "off" in choices else value
    if value not in choices:
        raise ValueError(f"is one of {', '.join(map(str, choices))}, not {value!r}")
    return value


def _sequence(kinds: tuple[Any, ...], value: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"is a list, not {value!r}")
    if kinds[-1] is Ellipsis:
        return tuple(_convert(kinds[0], each, path) for each in value)
    if len(value) != len(kinds):
        raise ValueError(f"takes {len(kinds)} values, not {len(value)}")
    return tuple(_convert(kind, each, path) for kind, each in zip(kinds, value, strict=True))


def _plain(kind: type, value: Any) -> Any:
    if kind is float and not isinstance(value, bool):
        try:
            return float(value)  # text too: YAML 1.1 reads 6e-4 as text, since it has no dot
        except (TypeError, ValueError):
            raise TypeError(f"is a number, not {value!r}") from None
    if kind is int and isinstance(value, str) and value.replace("_", "").isdigit():
        return int(value)
    if kind is str and value is None:
        return ""
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if type(value) is not kind:
        raise TypeError(f"is {_NAMES[kind]}, not {value!r}")
    return value


_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
