"""Lookups of values in files that hold tables: INI, properties and CSV."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.text.documents import refuse_control_characters
from playrunner.variables.lookups.lookup_scope import LookupScope
from playrunner.variables.lookups.outside import text_of

_CSV_OPTIONS = ("file", "delimiter", "col", "keycol", "encoding", "default")
_OPTION = re.compile(r"""(?:^|\s)(?P<name>\w+)=(?P<value>"[^"]*"|'[^']*'|\S*)""")
_YES = ("yes", "true", "1", "on", "y", "t")


def ini(terms: list[Any], scope: LookupScope, **options: Any) -> list[Any]:
    """Values of an INI or properties file; with `re` those of all keys that match."""
    import configparser

    values: list[Any] = []
    for term in terms:
        key, given = _key_and_options(str(term), options)
        if not key:
            raise ValueError(
                f"No key to look up was provided as first term within string inline options: {term}"
            )
        parser = configparser.ConfigParser(
            interpolation=None, allow_no_value=_is_true(given.get("allow_no_value"))
        )
        if _is_true(given.get("case_sensitive")):
            parser.optionxform = str  # type: ignore[method-assign, assignment]
        path = scope.find(str(given.get("file", "ansible.ini")), "files")
        text = text_of(path, str(given.get("encoding", "utf-8")))
        refuse_control_characters(text, str(path))
        section = str(given.get("section", "global"))
        if given.get("type") == "properties":
            section, text = "java_properties", f"[java_properties]\n{text}"
        try:
            parser.read_string(text)
        except configparser.DuplicateOptionError as error:
            raise ValueError(f"Duplicate option in {path.name!r}: {error}") from None
        except configparser.Error as error:
            raise ValueError(f"not an INI file: {' '.join(str(error).split())}") from None
        if section not in parser:
            raise ValueError(f"No section {section!r} in {path.name!r}")
        if _is_true(given.get("re")):
            found = parser.items(section)
            values += [value for name, value in found if _pattern(key).match(name)]
        else:
            values.append(parser.get(section, key, fallback=given.get("default", "")))
    return values


def csvfile(terms: list[Any], scope: LookupScope, **options: Any) -> list[Any]:
    """A column of the row of a CSV file whose first column is the term."""
    import csv
    import io

    values: list[Any] = []
    if not terms:
        raise ValueError("Search key is required but was not found")
    for term in terms:
        key, given = _key_and_options(str(term), options)
        if not key:
            raise ValueError("Search key is required but was not found")
        for name in given:
            if name not in _CSV_OPTIONS:
                raise ValueError(f"{name} is not a valid option in csvfile lookup")
        path = _found(str(given.get("file", "ansible.csv")), scope)
        separator = str(given.get("delimiter", "\t"))
        separator = "\t" if separator in ("TAB", "\\t") else separator
        column, key_column = _whole(given, "col", 1), _whole(given, "keycol", 0)
        rows = csv.reader(
            io.StringIO(text_of(path, str(given.get("encoding", "utf-8")))), delimiter=separator
        )
        matching = (row for row in rows if len(row) > key_column and row[key_column] == key)
        row = next(matching, None)
        if row is not None:
            values.append(row[column])
        elif given.get("default") is not None:
            default = given["default"]
            values += default if isinstance(default, list) else [default]
    return values


def _found(name: str, scope: LookupScope) -> Path:
    try:
        return scope.find(name, "files")
    except PlayrunnerError as error:
        raise ValueError(f"No such file or directory: {error}") from None


def _key_and_options(term: str, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """`key section=a file=b` in the old one-text form, over the options."""
    matches = list(_OPTION.finditer(term))
    if not matches:
        return term, options
    pairs = {each["name"]: each["value"] for each in matches}
    for name, value in pairs.items():
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            pairs[name] = value[1:-1]
    return term[: matches[0].start()].strip(), {**options, **pairs}


def _whole(options: dict[str, Any], name: str, default: int) -> int:
    try:
        return int(options.get(name, default))
    except (TypeError, ValueError):
        raise ValueError(
            f"the option {name} has an invalid value: {options[name]!r} is not a whole number"
        ) from None


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"not a pattern: {error}") from None


def _is_true(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).lower() in _YES
