"""Inventories written as INI: `[group]`, `[group:vars]`, `[group:children]`, and hosts with
key=value behind them."""

from __future__ import annotations

import re
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.inventory.graph import Graph
from playrunner.inventory.group_names import given_group_name
from playrunner.inventory.ranges import expand
from playrunner.inventory.value import Value, Values
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.documents import refuse_control_characters
from playrunner.text.written import all_written

SECTION_KINDS = ("hosts", "vars", "children")

_SECTION = re.compile(r"\[([^:\[\]\s]+)(?::(\w+))?\]\s*(?:#.*)?")
_GROUP_NAME = re.compile(r"([^:\]\s]+)\s*(?:#.*)?")
_ADDRESS_OR_RANGE = re.compile(r"\[[^\[\]]+\][^\s#;]")


def add_ini(text: str, file: str, graph: Graph) -> None:
    """Put an INI inventory into the graph."""
    refuse_control_characters(text, file)
    reader = _Reader(file, graph)
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped and stripped[0] not in "#;":
            reader.read(stripped, Place(file, number))
    reader.finish()


class _Reader:
    """Where in the file we are: the group and kind of the section, and what was named before it was
    defined."""

    def __init__(self, file: str, graph: Graph) -> None:
        self.file, self.graph = file, graph
        self.group, self.kind = "ungrouped", "hosts"
        self.block: Values = {}
        self.vars_blocks: list[tuple[str, Values, Place]] = []
        self.children: list[tuple[str, str, Place]] = []

    def read(self, line: str, place: Place) -> None:
        if line[0] == "[" and not _ADDRESS_OR_RANGE.match(line):
            self._open_section(line, place)
        elif self.kind == "vars":
            self._read_variable(line, place)
        elif self.kind == "children":
            self._read_child(line, place)
        else:
            self._read_host(line, place)

    def finish(self) -> None:
        """Groups may be used above the line that defines them, so they are looked up at the end."""
        known = self.graph.groups
        for parent, child, place in self.children:
            if given_group_name(child) not in known:
                raise BadInput(
                    f'[{parent}:children] names group "{child}", which is not defined'
                    + did_you_mean(child, known, f"add a [{child}] section"),
                    place,
                )
            self.graph.add_child(parent, child, place)
        for group, values, place in self.vars_blocks:
            if given_group_name(group) not in known:
                raise BadInput(
                    f'[{group}:vars] is for group "{group}", which is not defined'
                    + did_you_mean(group, known, f"add a [{group}] section"),
                    place,
                )
            self.graph.set_group_values(group, values)

    def _open_section(self, line: str, place: Place) -> None:
        heading = _SECTION.fullmatch(line)
        if heading is None:
            raise BadInput(
                f"{line!r} is not a section heading; write [group], [group:vars] or"
                " [group:children], without spaces",
                place,
            )
        self.group, self.kind = heading[1], heading[2] or "hosts"
        if self.kind not in SECTION_KINDS:
            remedy = did_you_mean(
                self.kind, SECTION_KINDS, "use [group], [group:vars] or [group:children]"
            )
            raise BadInput(
                f'section [{self.group}:{self.kind}] has an unknown kind "{self.kind}"{remedy}',
                place,
            )
        if self.kind == "vars":
            self.block = {}
            self.vars_blocks.append((self.group, self.block, place))
        else:
            self.graph.add_group(self.group)

    def _read_variable(self, line: str, place: Place) -> None:
        name, equals, written = line.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"[{self.group}:vars] expects name=value, got {line!r}", place)
        self.block[name.strip()] = Value(
            all_written(literal(written.strip())), place, f"group {self.group}"
        )

    def _read_child(self, line: str, place: Place) -> None:
        match = _GROUP_NAME.fullmatch(line)
        if match is None:
            raise BadInput(
                f"[{self.group}:children] expects one group name on a line, got {line!r}", place
            )
        self.children.append((self.group, match[1], place))

    def _read_host(self, line: str, place: Place) -> None:
        words = _words(line, place)
        if not words:
            return
        if words[0] == "---":
            raise BadInput(
                "--- begins a YAML file, but this one is read as INI; name it with the ending"
                " .yaml",
                place,
            )
        if words[0].endswith(":"):
            raise BadInput(
                f'host "{words[0]}" ends with a colon; put a port behind it, or end the file\'s'
                " name with .yaml if it is meant to be YAML",
                place,
            )
        settings: dict[str, Any] = {}
        for word in words[1:]:
            name, equals, written = word.partition("=")
            if not equals or not name:
                raise BadInput(
                    f'host "{words[0]}" expects name=value, got {word!r}; leave no spaces around ='
                    " and put quotes around a value with spaces",
                    place,
                )
            settings[name] = all_written(literal(written))
        names, port = expand(words[0], place)
        if port is not None:
            settings.setdefault("ansible_port", port)
        for name in names:
            self.graph.add_host(name, self.group, place)
            layer = f"host {name}"
            self.graph.set_host_values(
                name, {key: Value(value, place, layer) for key, value in settings.items()}
            )


def literal(written: str) -> Any:
    """A value written as a Python literal is that value; any other text is itself."""
    if written.isidentifier() and written not in ("True", "False", "None"):
        return written
    import ast

    try:
        value = ast.literal_eval(written)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return written
    try:
        return _plain(value)
    except ValueError:
        return written


def _plain(value: Any) -> Any:
    """A literal that YAML could also hold, or the text of one that it could not."""
    if isinstance(value, bytes):
        return value.decode()
    if value is ... or isinstance(value, complex):
        return "..." if value is ... else str(value)
    if isinstance(value, (tuple, set, list)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {_plain_key(key): _plain(each) for key, each in value.items()}
    if isinstance(value, str):
        value.encode()  # half of a surrogate pair has no bytes, and the error is a ValueError
    elif value is not None and not isinstance(value, (bool, int, float)):
        raise ValueError
    elif isinstance(value, int):
        str(value)  # more digits than Python prints is a ValueError
    return value


def _plain_key(key: Any) -> Any:
    if isinstance(key, tuple):
        raise ValueError
    return _plain(key)


def _words(line: str, place: Place) -> list[str]:
    # Quotes, escapes and comments are rare, and the shell's splitting is slow.
    if not any(mark in line for mark in "'\"\\#"):
        return line.split()
    import shlex

    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise BadInput(
            f"{line!r} cannot be split into words: {str(error).lower()}; close the quote", place
        ) from None
