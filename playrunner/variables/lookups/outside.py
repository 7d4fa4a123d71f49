"""Lookups that look outside the variables: files and commands of the controller."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.text.documents import decrypted_text, read_text
from playrunner.variables.lookups.lookup_scope import LookupScope
from playrunner.vault.masking import masking


def file(
    terms: list[Any], scope: LookupScope, lstrip: bool = False, rstrip: bool = True
) -> list[str]:
    """The text of files, without the white space at the end."""
    return [_stripped(text_of(scope.find(str(term), "files")), lstrip, rstrip) for term in terms]


def unvault(terms: list[Any], scope: LookupScope) -> list[str]:
    """The text of files as it is in them, decrypted if they are encrypted with vault."""
    return [text_of(scope.find(str(term), "files")) for term in terms]


def fileglob(terms: list[Any], scope: LookupScope) -> list[str]:
    """The files that patterns match, in the folder `files` or a given one; none is fine."""
    files: list[str] = []
    for term in terms:
        folder, pattern = os.path.split(str(term))
        try:
            directories = [scope.find(folder, "files")] if folder else scope.search_path("files")
        except BadInput:
            continue
        matches = (sorted(filter(Path.is_file, each.glob(pattern))) for each in directories)
        files += map(str, next(filter(None, matches), []))  # of the first folder that has any
    return files


def pipe(terms: list[Any], _scope: LookupScope) -> list[str]:
    """What shell commands print on the controller."""
    return [_output(str(term)).rstrip() for term in terms]


def lines(terms: list[Any], _scope: LookupScope) -> list[str]:
    """The lines that shell commands print on the controller."""
    return [line for term in terms for line in _output(str(term)).splitlines()]


def first_found(
    terms: list[Any],
    scope: LookupScope,
    files: Any = (),
    paths: Any = (),
    skip: bool = False,
    _subdir: str = "files",
) -> list[str]:
    """The first file that is there; terms are names, or mappings of files, paths and skip."""
    for term in [*_flat(terms), *([{"files": files, "paths": paths}] if files else [])]:
        if isinstance(term, Mapping):
            skip = skip or bool(term.get("skip"))
            names, folders = _names(term.get("files", ())), _names(term.get("paths", ()))
        elif isinstance(term, str):
            names, folders = [term], _names(paths)
        else:
            raise TypeError(
                f"Invalid term supplied. A string, dict or list is required, not {_kind(term)!r}"
            )
        for name in (
            [os.path.join(folder, name) for folder in folders for name in names]
            if folders
            else names
        ):
            place = _find_any(scope, name, _subdir)
            if place:
                return [str(place)]
    if skip:
        return []
    raise ValueError("none of the files is there; `skip: true` makes that fine")


def text_of(path: Path, encoding: str = "utf-8") -> str:
    text = read_text(path, encoding)
    decrypted = decrypted_text(text, path)
    if decrypted is not text:
        masking.add(decrypted)
    return decrypted


def _stripped(text: str, left: bool, right: bool) -> str:
    text = text.lstrip() if left else text
    return text.rstrip() if right else text


def _output(command: str) -> str:
    import subprocess

    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise ValueError(
            f"`{command}` ended with code {done.returncode}{': ' + message if message else ''}"
        )
    return done.stdout.decode("utf-8", "surrogateescape")


def _find_any(scope: LookupScope, name: str, first: str) -> Path | None:
    for folder in dict.fromkeys((first, "files", "templates", "vars")):
        try:
            return scope.find(name, folder)
        except BadInput:
            continue
    return None


def _kind(value: object) -> str:
    return type(value).__name__


def _flat(terms: list[Any]) -> list[Any]:
    return [item for term in terms for item in (_flat(term) if isinstance(term, list) else [term])]


def _names(value: Any) -> list[str]:
    """Names from a list, or from one text with commas, semicolons or (between folders) colons."""
    import re

    texts = [value] if isinstance(value, str) else list(value or ())
    return [name for text in texts for name in re.split(r"[,;:]", str(text)) if name]
