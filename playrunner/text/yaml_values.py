"""YAML text in, values out: built from the parser's events without recursion and within limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from playrunner.text.yaml_collections import (
    PREFIX,
    UNSAFE,
    Unreadable,
    as_key,
    check_collection_tag,
    collection,
    merge,
    mergeable,
    shown_tag,
    with_texts,
)

# The C parser reads a playbook about ten times faster; the pure one is there on every machine.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MOST_NESTED = 100  # the deepest playbook seen has 14; JSON from APIs stays below 40
# Values that aliases may repeat; a long inventory with anchors has some thousands
MOST_ALIASED = 100_000
_ALIASED_PER_VALUE = 10  # a long text may have more: every entry of it may repeat a few settings
_LONGEST_NUMBER = 1000  # characters; Python refuses to print integers of more than 4,300 digits
_TEXT_PER_VALUE = 64  # characters that count as one value when an alias repeats them

_MERGE = object()  # the key <<
_NO_KEY = object()  # a mapping that waits for its next key
_CONSTRUCTOR = yaml.constructor.SafeConstructor()
_SCALARS: dict[str, Callable[[Any], Any]] = {
    PREFIX + name: getattr(_CONSTRUCTOR, f"construct_yaml_{name}")
    for name in ("null", "bool", "int", "float", "binary", "timestamp", "str")
}
_RESOLVERS: dict[Any, list[tuple[str, Any]]] = yaml.resolver.Resolver.yaml_implicit_resolvers

Tag = Callable[[str, int], Any]  # the scalar's text and its line to its value
# The line to an empty mapping; its key_lines, if it has them, get the line of each key
NewMapping = Callable[[int], dict[Any, Any]]
# A text, and whether it is a mapping's key, to the value it is kept as
NewText = Callable[[str, bool], Any]
Repeated = Callable[[Any, int], None]  # is told of a key that a mapping has twice, and its line


def documents(
    text: str,
    new_mapping: NewMapping,
    tags: Mapping[str, Tag],
    new_text: NewText | None = None,
    repeated: Repeated | None = None,
) -> Iterator[Any]:
    """The value of each document in a text, with the line it starts on."""
    line = 1
    try:
        builder = None
        for event in yaml.parse(text, Loader=_Base):
            kind = type(event)
            line = event.start_mark.line + 1 if event.start_mark else line
            if kind is yaml.DocumentStartEvent:
                builder = _Builder(new_mapping, tags, new_text, repeated)
            elif kind is yaml.DocumentEndEvent:
                assert builder is not None  # a document ends after it has begun
                yield builder.root, line
                builder = None
            elif builder is not None:
                builder.take(kind, event, line)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(
            f"not valid YAML: {error.problem or error.context}", mark.line + 1 if mark else 0
        ) from None
    except yaml.reader.ReaderError as error:
        where = _line_at(text, error.position)
        raise Unreadable(f"not valid YAML: {_reason(error)}", where) from None
    except UnicodeEncodeError as error:
        raise Unreadable(
            "not valid YAML: half of a surrogate pair", text.count("\n", 0, error.start) + 1
        ) from None
    except yaml.YAMLError as error:
        raise Unreadable(f"not valid YAML: {' '.join(str(error).split())}", line) from None


def _line_at(text: str, byte: Any) -> int:
    return text.encode("utf-8", "replace")[:byte].count(b"\n") + 1 if isinstance(byte, int) else 1


def _reason(error: yaml.reader.ReaderError) -> str:
    character = error.character
    shown = f" (U+{character:04X})" if isinstance(character, int) and character >= 0 else ""
    return f"{error.reason}{shown}"


class _Open:
    """A list or mapping whose end has not come yet."""

    __slots__ = (
        "anchor",
        "is_mapping",
        "key",
        "key_line",
        "key_lines",
        "line",
        "merges",
        "size_before",
        "tag",
        "value",
    )

    def __init__(
        self, value: Any, is_mapping: bool, event: Any, line: int, size_before: int
    ) -> None:
        self.value, self.is_mapping, self.line, self.size_before = (
            value,
            is_mapping,
            line,
            size_before,
        )
        self.anchor, self.tag = event.anchor, event.tag
        self.key: Any = _NO_KEY
        self.key_line = line
        self.key_lines: dict[Any, int] | None = getattr(value, "key_lines", None)
        self.merges: list[dict[Any, Any]] | None = None


class _Builder:
    """One document while its events come in."""

    def __init__(
        self,
        new_mapping: NewMapping,
        tags: Mapping[str, Tag],
        new_text: NewText | None,
        repeated: Repeated | None,
    ) -> None:
        self.root: Any = None
        self._repeated = repeated
        self._new_mapping, self._tags, self._new_text = new_mapping, tags, new_text
        self._open: list[_Open] = []
        # Value and size; None while it is open
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        self._size = self._written = 0  # values with and without what aliases repeat

    def take(self, kind: type, event: Any, line: int) -> None:
        if kind is yaml.ScalarEvent:
            self._size += 1 + len(event.value) // _TEXT_PER_VALUE
            self._written += 1
            value = self._scalar(event, line)
            if self._new_text is not None and type(value) is str:
                value = self._new_text(value, self._awaits_key())
            if event.anchor:
                self._name(event.anchor, line)
                self._anchors[event.anchor] = (value, 1 + len(event.value) // _TEXT_PER_VALUE)
            self._add(value, line)
        elif kind is yaml.MappingStartEvent:
            self._start(self._new_mapping(line), True, event, line)
        elif kind is yaml.SequenceStartEvent:
            self._start([], False, event, line)
        elif kind is yaml.AliasEvent:
            self._add(self._aliased(event.anchor, line), line)
        else:
            self._end()

    def _scalar(self, event: Any, line: int) -> Any:
        tag, text = event.tag, event.value
        if tag is None or tag == "!":
            if not event.implicit[0]:
                return text
            tag = _implicit_tag(text)
            if tag is None:
                return text
            if tag == PREFIX + "merge" and self._awaits_key():
                return _MERGE
        return self._converted(tag, text, line)

    def _awaits_key(self) -> bool:
        return bool(self._open) and self._open[-1].is_mapping and self._open[-1].key is _NO_KEY

    def _converted(self, tag: str, text: str, line: int) -> Any:
        if tag in self._tags:
            return self._tags[tag](text, line)
        convert = _SCALARS.get(tag)
        if convert is None:
            if tag in (PREFIX + "merge", PREFIX + "value"):
                return text
            raise Unreadable(f'not valid YAML: the tag "{shown_tag(tag)}" is not known here', line)
        if len(text) > _LONGEST_NUMBER and tag in (PREFIX + "int", PREFIX + "float"):
            raise Unreadable(f"a number of {len(text):,} digits; quote it if it is text", line)
        try:
            return convert(yaml.ScalarNode(tag, text))
        except (
            yaml.YAMLError,
            ValueError,
            KeyError,
            AttributeError,
            IndexError,
            OverflowError,
            TypeError,
        ):
            raise Unreadable(
                f'not valid YAML: "{text[:60]}" cannot be read as {shown_tag(tag)};'
                " quote it if it is text",
                line,
            ) from None

    def _start(self, value: Any, is_mapping: bool, event: Any, line: int) -> None:
        if len(self._open) >= MOST_NESTED:
            raise Unreadable(f"nested more than {MOST_NESTED} deep", line)
        check_collection_tag(event.tag, is_mapping, line)
        if event.anchor:
            self._name(event.anchor, line)
        self._open.append(_Open(value, is_mapping, event, line, self._size))
        self._size += 1
        self._written += 1

    def _name(self, anchor: str, line: int) -> None:
        if anchor in self._anchors:
            raise Unreadable(f"not valid YAML: the anchor &{anchor} is given twice", line)
        self._anchors[anchor] = None

    def _aliased(self, anchor: str, line: int) -> Any:
        if anchor not in self._anchors:
            raise Unreadable(
                f"not valid YAML: there is no anchor &{anchor} before the alias *{anchor}", line
            )
        aliased = self._anchors[anchor]
        if aliased is None:
            raise Unreadable(
                f"not valid YAML: the alias *{anchor} is recursive: it is used inside &{anchor}",
                line,
            )
        self._size += aliased[1]
        if self._size > MOST_ALIASED and self._size > _ALIASED_PER_VALUE * self._written:
            raise Unreadable(f"its aliases repeat more than {MOST_ALIASED:,} values", line)
        return aliased[0]

    def _end(self) -> None:
        closed = self._open.pop()
        value = closed.value
        if closed.merges:
            merge(value, closed.merges)
        if closed.tag == UNSAFE:
            value = with_texts(value, self._tags[UNSAFE], closed.line)
        elif closed.tag:
            value = collection(closed.tag, value, closed.line)
        if closed.anchor:
            self._anchors[closed.anchor] = (value, self._size - closed.size_before)
        self._add(value, closed.line)

    def _add(self, value: Any, line: int) -> None:
        if not self._open:
            self.root = value
            return
        into = self._open[-1]
        if not into.is_mapping:
            into.value.append(value)
        elif into.key is _NO_KEY:
            into.key, into.key_line = as_key(value, line), line
        elif into.key is _MERGE:
            into.merges = [*mergeable(value, line), *(into.merges or ())]
            into.key = _NO_KEY
        else:
            if self._repeated is not None and into.key in into.value:
                self._repeated(into.key, into.key_line)
            into.value[into.key] = value
            if into.key_lines is not None:
                into.key_lines[into.key] = into.key_line
            into.key = _NO_KEY


def _implicit_tag(text: str) -> str | None:
    for tag, pattern in _RESOLVERS.get(text[:1], ()):
        if pattern.match(text):
            return tag
    return None
