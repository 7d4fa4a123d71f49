"""Templates that only put variables into text, as most in a playbook do: they run without being
compiled, which costs jinja about a third of a millisecond each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from playrunner.variables.filters.environment import PlayEnvironment
from playrunner.variables.lookups.lookup_scope import LookupScope

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}", re.ASCII)
_MARKERS = ("{{", "{%", "{#", "\r")
_JINJA_WORDS = frozenset(
    (
        "true",
        "false",
        "none",
        "True",
        "False",
        "None",
        "not",
        "and",
        "or",
        "in",
        "is",
        "if",
        "else",
        "self",
    )
)


class Substitution:
    """Literal texts, and between each two of them a variable or an attribute of one."""

    def __init__(self, literals: list[str], variables: list[list[str]]) -> None:
        self._literals, self._variables = literals, variables

    def parts(self, environment: PlayEnvironment, scope: LookupScope) -> Iterator[Any]:
        for literal, (name, *attributes) in zip(self._literals, self._variables, strict=False):
            if literal:
                yield literal
            value = environment.resolve(name, scope)
            for attribute in attributes:
                value = environment.getattr(value, attribute)
            yield value
        if self._literals[-1]:
            yield self._literals[-1]


def substitution(text: str) -> Substitution | None:
    """The substitution a text amounts to, or None when it says more than that."""
    # Jinja takes one newline at the end for the end of the last line.
    pieces = _VARIABLE.split(text.removesuffix("\n"))
    literals, variables = pieces[0::2], [path.split(".") for path in pieces[1::2]]
    if any(marker in literal for literal in literals for marker in _MARKERS):
        return None
    if any(path[0] in _JINJA_WORDS for path in variables):
        return None
    return Substitution(literals, variables)
