"""Conditions with `{{ }}` in them, such as `name == '{{ other }}'`: one expression, made of the
playbook's text alone.

A value is bound where its braces stand. It is never put into the text that is parsed, so whatever a
host answers is a value to compare with and nothing more.
"""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, nodes
from jinja2.parser import Parser
from jinja2.visitor import NodeTransformer

from playrunner.text.written import is_template
from playrunner.variables.filters.plain import plain

# No template can name these: they hold what no identifier does.
FILTERS: dict[str, Any] = {}
_AS_VALUE, _AS_TEXT = "{{ }}", "'{{ }}'"
_WORDS = {"true": True, "True": True, "false": False, "False": False, "none": None, "None": None}
_NUMBER = re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?", re.ASCII)


def embedded(environment: Environment, text: str) -> tuple[nodes.Expr, bool] | None:
    """The expression, and whether it is one pair of braces and nothing else; None where blocks or
    comments are used."""
    reader = _Reader(environment, text)
    outer = reader.read() if is_template(text) else text
    if outer is None:
        return None
    if outer.strip() == reader.name(0):
        return reader.found[0], True
    parser = Parser(environment, outer, state="variable")
    expression = parser.parse_expression()
    if not parser.stream.eos:
        parser.fail(f"unexpected {parser.stream.current.value!r} after the expression")
    bound: nodes.Expr = _Bind(reader).visit(nodes.Output([expression])).nodes[0]
    return bound, False


def literal(value: Any) -> Any:
    """Text of a number, true, false or none as that value; any other value unchanged."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return value


def _text(value: Any) -> str:
    value = plain(value)
    return "" if value is None else str(value)


FILTERS.update({_AS_VALUE: literal, _AS_TEXT: _text})


class _Reader:
    """Replaces each pair of braces by a name, and keeps what stood in it."""

    def __init__(self, environment: Environment, text: str) -> None:
        self._environment, self._text = environment, "\n".join(text.splitlines())
        self._prefix = "embedded_"
        while self._prefix in text:
            self._prefix += "_"
        self.found: list[nodes.Expr] = []
        self.quoted: set[int] = set()  # those inside a text literal

    def name(self, number: int) -> str:
        return f"{self._prefix}{number}"

    def read(self) -> str | None:
        text, position, outer = self._text, 0, ""
        while position < len(text):
            if text.startswith(("{%", "{#"), position):
                return None
            if text.startswith("{{", position):
                name, position = self._braces(position, quoted=False)
                outer += f" {name} "
            elif text[position] in "'\"":
                piece, position = self._literal(position)
                outer += piece
            else:
                outer += text[position]
                position += 1
        return outer

    def _literal(self, start: int) -> tuple[str, int]:
        """A text literal; one with braces in it becomes its parts, joined."""
        text, quote, position = self._text, self._text[start], start + 1
        parts, part = [], ""
        while position < len(text) and text[position] != quote:
            if text.startswith("{{", position):
                name, position = self._braces(position, quoted=True)
                parts += [quote + part + quote, name]
                part = ""
                continue
            step = 2 if text[position] == "\\" else 1
            part += text[position : position + step]
            position += step
        end = text[
            position : position + 1
        ]  # missing when the quote is never closed, which the parser says
        last = quote + part + end
        return (f"({' ~ '.join([*parts, last])})" if parts else last), position + 1

    def _braces(self, start: int, quoted: bool) -> tuple[str, int]:
        length = 0
        for _, token, piece in self._environment.lexer.tokeniter(self._text[start:], None):
            length += len(piece)
            if token == "variable_end":
                break
        tree = self._environment.parse(self._text[start : start + length])
        output = tree.find(nodes.Output)
        assert output is not None
        if quoted:
            self.quoted.add(len(self.found))
        self.found.append(output.nodes[0])
        return self.name(len(self.found) - 1), start + length


class _Bind(NodeTransformer):
    """Puts the expressions back in place of their names."""

    def __init__(self, reader: _Reader) -> None:
        self._numbers = {reader.name(number): number for number in range(len(reader.found))}
        self._reader = reader

    def visit_Name(self, node: nodes.Name) -> nodes.Expr:
        number = self._numbers.get(node.name)
        if number is None:
            return node
        kind = _AS_TEXT if number in self._reader.quoted else _AS_VALUE
        return nodes.Filter(self._reader.found[number], kind, [], [], None, None, lineno=1)
