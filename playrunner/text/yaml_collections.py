"""Mappings and lists of a YAML document: their keys, tags, and the merge key <<."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PREFIX = "tag:yaml.org,2002:"
UNSAFE = "!unsafe"  # no text inside is a template


class Unreadable(ValueError):
    """A text that is not YAML, or is past a limit; `line` counts from 1."""

    def __init__(self, problem: str, line: int) -> None:
        self.problem, self.line = problem, line
        super().__init__(problem)


def as_key(value: Any, line: int) -> Any:
    if isinstance(value, (dict, list, set)):
        raise Unreadable(
            "a mapping key must be a plain value, not a list or mapping; quote it if it holds"
            " {{ }}",
            line,
        )
    return value


def mergeable(value: Any, line: int) -> list[dict[Any, Any]]:
    """The mappings that << names, the one that wins first."""
    mappings = value if isinstance(value, list) else [value]
    if not all(isinstance(each, dict) for each in mappings):
        raise Unreadable("not valid YAML: << takes a mapping, or a list of mappings", line)
    return mappings


def merge(into: dict[Any, Any], merges: list[dict[Any, Any]]) -> None:
    """Merged keys come first, in reading order; keys that are written in the mapping win."""
    own = dict(into)
    into.clear()
    lines = getattr(into, "key_lines", None)
    for each in reversed(merges):
        into.update(each)
        if lines is not None:
            for key in each.keys() - own.keys():
                lines[key] = each.key_lines[key]  # type: ignore[attr-defined]
    into.update(own)


def check_collection_tag(tag: str | None, is_mapping: bool, line: int) -> None:
    known = ("map", "set") if is_mapping else ("seq", "omap", "pairs")
    if tag and tag not in ("!", UNSAFE) and tag not in {PREFIX + name for name in known}:
        kind = "a mapping" if is_mapping else "a list"
        raise Unreadable(f'not valid YAML: {kind} cannot have the tag "{shown_tag(tag)}"', line)


def collection(tag: str, value: Any, line: int) -> Any:
    if tag == PREFIX + "set":
        return set(value)
    if tag in (PREFIX + "omap", PREFIX + "pairs"):
        if not all(isinstance(each, dict) and len(each) == 1 for each in value):
            raise Unreadable(
                f"not valid YAML: {shown_tag(tag)} takes a list of mappings with one key each", line
            )
        return [pair for each in value for pair in each.items()]
    return value


def with_texts(value: Any, made: Callable[[str, int], Any], line: int) -> Any:
    """A mapping or list whose texts are made anew, all the way down."""
    if isinstance(value, str):
        return made(str(value), line)
    if isinstance(value, dict):
        value.update({key: with_texts(inner, made, line) for key, inner in value.items()})
    elif isinstance(value, list):
        value[:] = [with_texts(inner, made, line) for inner in value]
    return value


def shown_tag(tag: str) -> str:
    return f"!!{tag.removeprefix(PREFIX)}" if tag.startswith(PREFIX) else tag
