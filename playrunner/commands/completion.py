"""Values for the shell's completion: what follows `--profile`, `--name`, `--inventory` and other
flags whose values are known. Invoke itself completes verbs and flags."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Callable, Sequence

from invoke.parser.parser import Parser

from playrunner.errors import PlayrunnerError

_OF_TRAINING = "playrunner.training.verbs.completion"  # a room above this one, loaded by its name


def value_candidates(line: str, programs: Sequence[str], parser: Parser) -> list[str] | None:
    """What may stand where a command line ends, if that is a flag's value; else None. The shell
    chooses those that begin as the word that is typed."""
    try:
        words = shlex.split(line)
    except ValueError:  # within quotes
        return None
    words = words[1:] if words and words[0].rpartition("/")[2] in programs else words
    # Bash hands on --flag=value as three words
    words = [part for word in words if word != "=" for part in _parts(word)]
    if "--" in words:
        return []  # another program's
    flag = next((word for word in reversed(words[-2:]) if word.startswith("--")), "")
    verb = next((word for word in words if word in parser.contexts), "")
    if not flag or not verb or (words[-1].startswith("-") and words[-1] != flag):
        return None
    argument = parser.contexts[verb].flags.get(flag)
    if argument is None or not argument.takes_value:
        return None
    try:
        values = _values(verb, flag.removeprefix("--"))
    except (PlayrunnerError, OSError):
        return []  # a key press is no place for an error
    # Shells do not tell whether a word is done; one that is a value, and begins no other, is
    if words[-1] in values and sum(each.startswith(words[-1]) for each in values) == 1:
        return None
    return values


def _parts(word: str) -> list[str]:
    flag = re.fullmatch(r"(--[\w-]+)=(.*)", word)
    return [part for part in flag.groups() if part] if flag else [word]


def _values(verb: str, flag: str) -> list[str]:
    if flag == "inventory":
        from playrunner.project import inventory_names

        return inventory_names()
    if verb.partition(".")[0] not in ("train", "rehearse"):
        return []
    provided: dict[str, Callable[[], list[str]]] = importlib.import_module(_OF_TRAINING).VALUES
    by_verb = provided.get(f"{verb} --{flag}") or provided.get(f"--{flag}")
    return by_verb() if by_verb else []
