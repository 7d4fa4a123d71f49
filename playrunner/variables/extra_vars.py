"""Variables from the command line: key=value words, JSON or YAML text, or @file."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, BadOption, Place
from playrunner.text.documents import parse_yaml, read_variables
from playrunner.text.layered import Layered
from playrunner.text.written import written


class _FromTheCommandLine(dict[str, Any]):
    """Words name=value."""

    def place(self, _name: str) -> Place:
        return Place("<CLI option '-e'>")


def read_extra_vars(given: tuple[str, ...]) -> Layered:
    merged = Layered()
    for text in given:
        merged.add(_read(text.strip()))
    return merged


def _read(text: str) -> dict[str, Any]:
    if not text:
        return {}
    if text.startswith("@"):
        value = read_variables(Path(os.path.expanduser(text[1:])))
    elif text[0] in "{[":
        value = parse_yaml(text, "--extra-vars")
    else:
        return _pairs(text)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadOption(f"--extra-vars takes a mapping of names to values, not {text[:60]!r}")
    return value if text.startswith("@") else dict(value)  # only a file has lines


def _pairs(text: str) -> dict[str, Any]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadInput(f"--extra-vars cannot be read: {error} in {text[:60]!r}") from None
    variables = _FromTheCommandLine()
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise BadInput(
                f"--extra-vars takes name=value, JSON, or @file; {word!r} is none of them"
            )
        variables[name.strip()] = written(value)
    return variables
