"""Reads ssh's configuration file and what it includes; errors name the file and line."""

from __future__ import annotations

import glob
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.errors import BadInput, BadSetting, Place

if TYPE_CHECKING:
    from paramiko import SSHConfig

MOST_INCLUDES = 16  # as many levels as OpenSSH follows
# paramiko's own rule: it fails on a line that does not match
_SETTING = re.compile(r"(\w+)(?:\s*=\s*|\s+)(.+)")


def config_path(file: str) -> str:
    """The file that -F names, or ~/.ssh/config."""
    return os.path.expanduser(file or "~/.ssh/config")


def configured(file: str, host: str) -> dict[str, Any]:
    """The file's settings for a host; its name must have been checked, as `Match exec` puts it into
    a command."""
    config = _read(file)
    if config is None:
        return {}
    try:
        return dict(config.lookup(host))
    except Exception as error:  # paramiko does not wrap errors in values
        raise BadSetting(
            f'cannot be applied to the host "{host}": {str(error)[:200] or type(error).__name__}',
            Place(config_path(file)),
        ) from None


@cache
def _read(file: str) -> SSHConfig | None:
    """The configuration, or None when there is no file."""
    if file.lower() == "none":
        return None
    path = config_path(file)
    if not os.path.isfile(path):
        if file:
            raise BadInput("the ssh configuration file named with -F does not exist", Place(file))
        return None
    from paramiko import SSHConfig
    from paramiko.ssh_exception import ConfigParseError

    class Config(SSHConfig):
        """Keeps ProxyCommand unexpanded: the inventory's port and user are not known here."""

        TOKENS_BY_CONFIG_KEY = {**SSHConfig.TOKENS_BY_CONFIG_KEY, "proxycommand": []}

    try:
        return Config.from_text("\n".join(_lines(path)))
    except (ConfigParseError, ValueError) as error:
        raise BadSetting(f"cannot be read as ssh configuration: {error}", Place(path)) from None


def _lines(path: str, depth: int = 0) -> list[str]:
    """The lines of a configuration file, with Include lines replaced by the files they name."""
    lines: list[str] = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        place, words = Place(path, number), line.split()
        if not words or words[0].startswith("#"):
            continue
        setting = _SETTING.match(line.strip())
        if not setting:
            raise BadSetting(
                f"cannot be read as ssh configuration: {line.strip()[:80]!r} is not a name and a"
                " value",
                place,
            )
        if setting[1].lower() != "include":
            lines.append(line)
        elif depth >= MOST_INCLUDES:
            raise BadSetting(
                f"Include goes {MOST_INCLUDES} files deep; does a file include itself?", place
            )
        else:
            for pattern in setting[2].split():
                for included in _named(pattern.strip('"')):
                    lines += _lines(included, depth + 1)
    return lines


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError as error:
        raise BadSetting(f"cannot be read: {error.strerror}", Place(path)) from None


def _named(pattern: str) -> list[str]:
    """The files that an Include names; relative to ~/.ssh."""
    spelled = os.path.join(os.path.expanduser("~/.ssh"), os.path.expanduser(pattern))
    return (
        []
        if "\0" in spelled
        else [file for file in sorted(glob.glob(spelled)) if os.path.isfile(file)]
    )
