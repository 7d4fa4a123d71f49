"""`--secret NAME` and `--secret NAME=FILE`: values that only a run's ranks get. What is remembered
of a run is where they come from, so that resuming it reads them again."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from playrunner.errors import BadInput
from playrunner.training.environment.variable import Variable

ORIGIN = "--secret"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def secret_sources(given: Sequence[str]) -> tuple[str, ...]:
    """As typed, with the paths of files as they hold in every folder."""
    return tuple(
        f"{name}={Path(file).expanduser().absolute()}" if file else name
        for name, _, file in (each.partition("=") for each in given)
    )


def secret_variables(sources: Sequence[str]) -> list[Variable]:
    return [_variable(*each.partition("=")[::2]) for each in sources]


def with_secrets(variables: Sequence[Variable], sources: Sequence[str]) -> list[Variable]:
    secret = secret_variables(sources)
    names = {each.name for each in secret}
    return [*(each for each in variables if each.name not in names), *secret]


def _variable(name: str, file: str) -> Variable:
    if not _NAME.fullmatch(name):
        raise BadInput(
            "--secret: write NAME, a variable of this shell, or NAME=FILE, a file with the value"
        )
    value = _read(name, file) if file else os.environ.get(name, "")
    if not value:
        where = f"the file {file} is empty" if file else "it is not set in this shell"
        raise BadInput(f"--secret {name}: {where}; set it, or give --secret {name}=FILE")
    if "\n" in value or "\0" in value:
        raise BadInput(f"--secret {name}: its value has more than one line")
    return Variable(name, value, "asked for", ORIGIN, hidden=True)


def _read(name: str, file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise BadInput(
            f"--secret {name}: the file {file} cannot be read: {reason} (a secret is given as NAME"
            " or NAME=FILE, never as its value)"
        ) from None
