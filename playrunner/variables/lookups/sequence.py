"""The lookup `sequence`: numbers from a start to an end, formatted as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_NAMES = ("start", "end", "count", "stride", "format")
_NUMBER = r"(?:0x[0-9a-fA-F]+|\d+)"
_SHORT = (
    rf"(?:(?P<start>{_NUMBER})-)?(?P<end>{_NUMBER})(?:/(?P<stride>{_NUMBER}))?(?::(?P<format>.+))?"
)


def sequence(terms: list[Any], _scope: object, **options: Any) -> list[str]:
    """`start=1 end=5 stride=2 format=node%02d`, or the short form `1-5/2:node%02d`; without start
    it begins at 1."""
    texts = [str(term) for term in terms] or ([""] if options else [])
    return [number for text in texts for number in _numbers({**options, **_read(text)})]


def _read(text: str) -> dict[str, Any]:
    short = re.fullmatch(_SHORT, text)
    if short:
        return {name: value for name, value in short.groupdict().items() if value is not None}
    if text and "=" not in text:
        bad = re.fullmatch(r"(?:([^-]*)-)?([^/:]*)(?:/([^:]*))?(?::.+)?", text)
        names = zip(("start", "end", "stride"), bad.groups() if bad else (), strict=False)
        return {name: _whole(value, name) for name, value in names if value is not None}
    given = dict(part.partition("=")[::2] for part in text.split())
    for name in given:
        if name not in _NAMES:
            raise ValueError(
                f"unrecognized arguments to with_sequence: {[name]}; write start=1 end=5 stride=2"
                " format=node%02d"
            )
    return given


def _numbers(options: dict[str, Any]) -> Iterator[str]:
    start, stride = _number(options, "start", 1), _number(options, "stride", 1)
    if "count" not in options and "end" not in options:
        raise ValueError("must specify count or end in with_sequence")
    if "count" in options and "end" in options:
        raise ValueError("can't specify both count and end in with_sequence")
    if "count" in options:
        count = _number(options, "count", 0)
        if not count:
            return
        end = start + count * stride - 1  # with a negative stride one more than count, as there
    else:
        end = _number(options, "end", 0)
    if stride > 0 and end < start:
        raise ValueError("to count backwards make stride negative")
    if stride < 0 and end > start:
        raise ValueError("to count forward don't make stride negative")
    if stride == 0:
        return
    form = str(options.get("format", "%d"))
    for number in range(start, end + (1 if stride > 0 else -1), stride):
        try:
            yield form % number
        except (TypeError, ValueError):
            raise ValueError(
                f"bad formatting string: {form}; write %d or %02x where the number belongs"
            ) from None


def _number(given: dict[str, Any], name: str, otherwise: int) -> int:
    return _whole(given.get(name, otherwise), name)


def _whole(value: Any, name: str) -> int:
    try:
        return (
            int(value)
            if not isinstance(value, str)
            else int(value, 0 if value.lower().startswith("0x") else 10)
        )
    except ValueError:
        raise ValueError(f"{name!r} has an invalid value: {value!r} is not a number") from None
