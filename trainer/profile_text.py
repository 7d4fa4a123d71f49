"""The text of a profile, read within limits: whatever is in the file, it ends in values or in one
complaint with its line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from trainer.errors import BadInput

MOST_BYTES = 1_000_000  # the largest profiles have a few kB
# Settings have four levels; the C parser builds values by recursion, and has no limit of its own
MOST_NESTED = 20
MOST_VALUES = 20_000  # with every alias counted as often as it is used
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]"
)  # and halves of characters, which nothing can write
_SHOWN = 80  # characters of a value, in a complaint

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Located(dict[str, Any]):
    """A mapping that knows where each of its keys was written."""

    locations: dict[str, str]

    def __init__(self, values: Any = (), locations: dict[str, str] | None = None) -> None:
        super().__init__(values)
        self.locations = locations or {}

    def location(self, key: str) -> str:
        return self.locations[key]


def read(path: Path) -> Located:
    """The settings of one file."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None
    if len(data) > MOST_BYTES:
        raise BadInput(f"{path}: is larger than {MOST_BYTES // 1000} kB, which no profile is")
    settings = parse(text, str(path))
    if settings is None:
        return Located()
    if not isinstance(settings, Located):
        raise BadInput(f"{path}:1: a profile is a mapping of settings")
    return settings


def parse(text: str, file: str) -> Any:
    """The value of a text; mappings in it know their lines."""
    try:
        _refuse_excess(text, file)
        loader = _Loader(text)
        node = loader.get_single_node()
        return None if node is None else _value(node, loader, file)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise BadInput(f"{file}:{line}: not valid YAML: {error.problem or error.context}") from None
    except UnicodeEncodeError as error:  # the bytes of an argument that are not UTF-8
        line = text.count("\n", 0, error.start) + 1
        raise BadInput(f"{file}:{line}: not UTF-8 text") from None
    except yaml.YAMLError as error:  # a control character
        line = text.count("\n", 0, getattr(error, "position", 0) or 0) + 1
        raise BadInput(f"{file}:{line}: not valid YAML: {' '.join(str(error).split())}") from None


def shown(value: Any) -> str:
    """A value in a complaint: not all of a long one."""
    try:
        text = repr(value)
    except ValueError:  # a number with more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _refuse_excess(text: str, file: str) -> None:
    """Nesting, and aliases of aliases, which make a short text into a huge value."""
    sizes: dict[str, int] = {}
    inside: list[
        tuple[str, int]
    ] = []  # the anchor of each collection that is open, and how much was counted before it
    counted = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise BadInput(
                    f"{file}:{line}: not valid YAML: *{shown(event.anchor)[1:-1]} stands inside of"
                    " what it names, or names nothing"
                )
            counted += sizes[event.anchor]
        elif isinstance(event, yaml.CollectionStartEvent):
            inside.append((event.anchor or "", counted))
            counted += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = inside.pop()
            sizes[anchor] = counted - before
        elif isinstance(event, yaml.ScalarEvent):
            counted += 1
            sizes[event.anchor or ""] = 1
        if len(inside) > MOST_NESTED:
            raise BadInput(f"{file}:{line}: nested more than {MOST_NESTED} deep")
        if counted > MOST_VALUES:
            raise BadInput(f"{file}:{line}: more than {MOST_VALUES} values, which no profile has")


def _value(node: yaml.Node, loader: Any, file: str) -> Any:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
        mapping = Located()
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise BadInput(
                    f"{file}:{key_node.start_mark.line + 1}: the name of a setting is a word, not a"
                    " list or mapping"
                )
            key = str(_plain(key_node, loader, file))
            mapping.locations[key] = f"{file}:{key_node.start_mark.line + 1}"
            mapping[key] = _value(value_node, loader, file)
        return mapping
    if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
        return [_value(item, loader, file) for item in node.value]
    if not isinstance(node, yaml.ScalarNode):
        raise BadInput(f"{file}:{line}: {node.tag} is no kind of value that a profile has")
    return _plain(node, loader, file)


def _plain(node: yaml.ScalarNode, loader: Any, file: str) -> Any:
    line = node.start_mark.line + 1
    try:
        value = loader.construct_object(node, deep=True)
        shown_well = isinstance(value, (str, int, float, type(None))) and (
            not isinstance(value, int) or abs(value) < 2**63
        )
    except (ValueError, TypeError, OverflowError, LookupError, AttributeError) as error:
        raise BadInput(f"{file}:{line}: not valid YAML: {shown(str(error))[1:-1]}") from None
    if isinstance(value, str) and _CONTROL.search(value):
        raise BadInput(f"{file}:{line}: a text holds a control character")
    if shown_well:
        return value
    if isinstance(value, int):
        raise BadInput(f"{file}:{line}: {shown(value)} is too large a number")
    return str(node.value)  # a date, or bytes: the text as it was written
