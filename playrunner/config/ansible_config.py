"""AnsibleConfig: the settings of ansible.cfg and of ANSIBLE_* variables, which win over the file.

The file is the first of: the one ANSIBLE_CONFIG names, ansible.cfg in the working folder (unless
everyone may write there), ~/.ansible.cfg, /etc/ansible/ansible.cfg. A setting that is not given
has no value here: each reader has its own default.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from playrunner.config.known_settings import (
    FLAG,
    KNOWN_SETTINGS,
    NUMBER,
    PATH,
    PATHS,
    SOURCES,
    WORDS,
    KnownSetting,
)
from playrunner.errors import BadInput, Place
from playrunner.text.documents import read_text, refuse_control_characters

FILE_NAME = "ansible.cfg"
SYSTEM_FILE = Path("/etc/ansible") / FILE_NAME
_YES = frozenset({"yes", "on", "1", "true", "t", "y"})
_NO = frozenset({"no", "off", "0", "false", "f", "n", ""})
_KEY_LINE = re.compile(r"\s*([^\s=:#;\[][^=:]*?)\s*[=:]")
_SECTION_LINE = re.compile(r"\[([^\]]+)\]")


class AnsibleConfig:
    """The settings that a user gave, read and checked."""

    def __init__(
        self,
        values: Mapping[str, Any],
        origins: Mapping[str, Place],
        file: Path | None = None,
        without_effect: tuple[str, ...] = (),
        warnings: tuple[str, ...] = (),
    ) -> None:
        self._values, self._origins = values, origins
        self.file = file
        self.without_effect = without_effect  # settings that were given and mean nothing here
        self.warnings = warnings

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a setting in its own type, or `default` where it is not given."""
        return self._values.get(name, default)

    def text(self, name: str, default: str = "") -> str:
        return str(self._values.get(name, default))

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self._values.get(name, default))

    def words(self, name: str) -> list[str]:
        """A list of words, paths or sources; empty where it is not given."""
        return list(self._values.get(name, ()))

    def paths(self, name: str) -> list[Path]:
        return [Path(path) for path in self.words(name)]

    def origin(self, name: str) -> Place:
        """The file and line, or the variable, that gave a setting."""
        return self._origins[name]


@cache
def ansible_config() -> AnsibleConfig:
    """The configuration of this process, read when something first asks for it."""
    return read_config(os.environ, Path.cwd())


def read_config(environment: Mapping[str, str], folder: Path) -> AnsibleConfig:
    """The configuration as it holds in a folder; a value that cannot be used is bad input."""
    file, warnings = _find_file(environment, folder)
    written, lines = _read_file(file) if file else ({}, {})
    values: dict[str, Any] = {}
    origins: dict[str, Place] = {}
    for name, setting in KNOWN_SETTINGS.items():
        option = (setting.section, setting.key or name)
        if setting.variable and setting.variable in environment:
            text, origins[name] = environment[setting.variable], Place(setting.variable)
            base = folder
        elif file and option in written:
            text, origins[name] = _unquoted(written[option]), Place(str(file), lines.get(option, 0))
            base = file.absolute().parent
        else:
            continue
        value = _read_value(setting, text, base, folder, origins[name], option[1])
        if value is not None:
            values[name] = value
    return AnsibleConfig(
        values, origins, file, tuple(_without_effect(environment, written)), tuple(warnings)
    )


def _find_file(environment: Mapping[str, str], folder: Path) -> tuple[Path | None, list[str]]:
    warnings: list[str] = []
    named = environment.get("ANSIBLE_CONFIG")
    if named is not None:
        path = folder / os.path.expanduser(os.path.expandvars(named))
        path = path / FILE_NAME if path.is_dir() else path
        if path.is_file() and os.access(path, os.R_OK):
            return path, warnings
    local = folder / FILE_NAME
    if local.is_file():
        if not folder.stat().st_mode & stat.S_IWOTH:
            return local, warnings
        warnings.append(
            f"{local} is not read, because everyone may write in its folder;"
            f' remove that right with "chmod o-w {folder}", or name the file in ANSIBLE_CONFIG'
        )
    for path in (Path.home() / f".{FILE_NAME}", SYSTEM_FILE):
        if path.is_file() and os.access(path, os.R_OK):
            return path, warnings
    return None, warnings


Options = dict[tuple[str, str], str]  # by section and key


def _read_file(file: Path) -> tuple[Options, dict[tuple[str, str], int]]:
    """The settings in the file, and the line of each."""
    import configparser

    text = read_text(file)
    refuse_control_characters(text, str(file))
    parser = configparser.RawConfigParser(inline_comment_prefixes=(";",), strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        line = getattr(error, "lineno", 0) or next(iter(getattr(error, "errors", ())), (0,))[0]
        raise BadInput(
            f"not a configuration file: {' '.join(str(error).split())[:200]};"
            " it has [sections] with lines of key = value",
            Place(str(file), line),
        ) from None
    options = {
        (section, key): value or ""
        for section in parser.sections()
        for key, value in parser.items(section)
    }
    return options, _lines(text)


def _lines(text: str) -> dict[tuple[str, str], int]:
    line_numbers: dict[tuple[str, str], int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _SECTION_LINE.match(line):
            section = heading[1]
        elif key := _KEY_LINE.match(line):
            line_numbers[section, key[1].lower()] = number
    return line_numbers


def _without_effect(environment: Mapping[str, str], written: Options) -> list[str]:
    known = {
        (setting.section, setting.key or name): setting.variable
        for name, setting in KNOWN_SETTINGS.items()
    }
    in_file = [f"[{section}] {key}" for section, key in written if (section, key) not in known]
    variables = [
        name
        for name in sorted(environment)
        if name.startswith("ANSIBLE_") and name != "ANSIBLE_CONFIG" and name not in known.values()
    ]
    return in_file + variables


def _read_value(
    setting: KnownSetting, text: str, base: Path, folder: Path, place: Place, key: str
) -> Any:
    """The value in its own type; None for an empty one, which counts as not given."""
    text = text.strip()
    if setting.choices and text not in setting.choices:
        raise BadInput(f'{key} cannot be "{text}"; one of {", ".join(setting.choices)}', place)
    if setting.kind in (PATH, PATHS, SOURCES):
        return _read_paths(setting, text, base, folder)
    if setting.kind is WORDS:
        return [_unquoted(word.strip()) for word in text.split(",") if word.strip()]
    try:
        if setting.kind is FLAG:
            return _flag(text)
        if setting.kind is NUMBER:
            return int(text) if text else None
    except ValueError:
        raise BadInput(f"{key} takes {setting.kind.what}, not {text!r}", place) from None
    return text


def _read_paths(setting: KnownSetting, text: str, base: Path, folder: Path) -> Any:
    def resolved(path: str) -> str:
        path = os.path.expandvars(os.path.expanduser(path.replace("{{CWD}}", str(folder))))
        return os.path.normpath(base / path)

    if setting.kind is PATH:
        return resolved(text) if text else None
    separator = ":" if setting.kind is PATHS else ","
    return [resolved(part.strip()) for part in text.split(separator) if part.strip()]


def _flag(text: str) -> bool:
    word = text.lower()
    if word not in _YES | _NO:
        raise ValueError
    return word in _YES


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and text[-2] != "\\":
        return text[1:-1]
    return text
