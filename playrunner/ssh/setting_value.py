"""A connection setting as written: checked when read, and refused with the file and line that set
it."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, NoReturn

from playrunner.errors import BadSetting, Place

MOST_SECONDS = 31_536_000.0  # a year: more overflows timers, and means a mistake
_TIME = re.compile(r"(?:[0-9]+[smhdw]?)+", re.IGNORECASE)
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_TOKEN = re.compile(r"%(.)")
# OpenSSH's rules for what may become part of a ProxyCommand, which a shell reads.
_IN_NO_ADDRESS = re.compile(r"""^-|['`"$\\;&<>|(){}\s\x00-\x1f\x7f-\x9f]""")
_IN_NO_USER = re.compile(r"""^-|['`";&<>|(){}\x00-\x1f\x7f-\x9f]|\s-|\\$""")


class SettingValue(NamedTuple):
    """A value, its name in messages, and where it was written (looked up only for an error)."""

    value: Any
    called: str
    where: Callable[[], Place | None]

    def refuse(self, rule: str) -> NoReturn:
        raise BadSetting(f"{self.called} {rule}, not {_shown(self.value)}", self.where())

    def text(self) -> str:
        return str(self.value)

    def port(self) -> int:
        """A port, or 0 when none is given."""
        if self.value in ("", None):
            return 0
        text = "" if isinstance(self.value, bool) else str(self.value).strip()
        if not re.fullmatch("[0-9]{1,5}", text) or not 0 < int(text) < 65536:
            self.refuse("must be a port number from 1 to 65535")
        return int(text)

    def seconds(self, default: float) -> float:
        """A time as ssh takes it: 90, 1m30s, or none."""
        text = "" if isinstance(self.value, bool) else str(self.value).strip()
        if text.lower() == "none":
            return default
        if _TIME.fullmatch(text):
            value = float(
                sum(
                    int(number) * _UNITS[unit.lower()]
                    for number, unit in re.findall("([0-9]{1,12})([A-Za-z]?)", text)
                )
            )
        else:
            try:
                value = float(text)
            except ValueError:
                value = math.nan
        if not 0 <= value <= MOST_SECONDS:
            self.refuse("must be a number of seconds")
        return value or default

    def address(self) -> str:
        """An address: OpenSSH's own rule, since it becomes part of commands and of ssh's
        configuration."""
        text = str(self.value)
        if not text or _IN_NO_ADDRESS.search(text):
            self.refuse(
                "must be an address without spaces, quotes or characters that a shell reads"
            )
        return text

    def user(self) -> str:
        text = str(self.value)
        if _IN_NO_USER.search(text):
            self.refuse("must be a user's name without quotes or characters that a shell reads")
        return text

    def words(self) -> list[str]:
        """Its words, separated and quoted as in a shell."""
        try:
            return [
                word
                for item in (self.value if isinstance(self.value, list) else [self.value])
                for word in _split(str(item))
            ]
        except ValueError as error:
            raise BadSetting(
                f"{self.called} cannot be read: {str(error).lower()} in {_shown(self.value)}",
                self.where(),
            ) from None

    def choice(self, *words: str) -> str:
        text = str(self.value).lower()
        if text not in words:
            self.refuse(f"must be {', '.join(words[:-1])} or {words[-1]}")
        return text


@cache
def _split(text: str) -> tuple[str, ...]:
    """Cached: hosts share their settings."""
    return tuple(shlex.split(text))


def filled(text: str, tokens: Mapping[str, str]) -> str:
    """The text with ssh's %-tokens replaced; replaced values are not expanded again."""
    return (
        text if "%" not in text else _TOKEN.sub(lambda match: tokens.get(match[1], match[0]), text)
    )


def _shown(value: Any) -> str:
    return f'"{str(value)[:80]}"'
