"""Filters with regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playrunner.errors import StepFailed


def regex_replace(
    value: Any = "",
    pattern: str = "",
    replacement: str = "",
    ignorecase: bool = False,
    multiline: bool = False,
    count: int = 0,
    mandatory_count: int = 0,
) -> str:
    """The text with what matches replaced; `\\1` and `\\g<name>` in the replacement stand for
    groups."""
    try:
        text, times = compiled(pattern, ignorecase, multiline).subn(replacement, str(value), count)
    except (re.error, IndexError) as error:
        raise StepFailed(
            f"filter 'regex_replace': in the replacement {replacement!r}: {error}"
        ) from None
    if mandatory_count and times != mandatory_count:
        raise ValueError(
            f"{pattern!r} should match {mandatory_count} times, but matches {times} times in"
            f" {value!r}"
        )
    return text


def regex_search(
    value: Any, regex: str, *groups: str, ignorecase: bool = False, multiline: bool = False
) -> Any:
    """The first match, or its named groups as a list when groups are asked for; none without a
    match."""
    wanted = [_group(group) for group in groups]
    match = compiled(regex, ignorecase, multiline).search(str(value))
    if match is None:
        return None
    return [match.group(group) for group in wanted] if wanted else match.group()


def regex_findall(
    value: Any, regex: str, multiline: bool = False, ignorecase: bool = False
) -> list[Any]:
    return compiled(regex, ignorecase, multiline).findall(str(value))


def regex_escape(value: Any, re_type: str = "python") -> str:
    """The text as a pattern that matches it and nothing else."""
    if re_type == "python":
        return re.escape(str(value))
    if re_type == "posix_basic":
        return re.sub(r"([].[^$*\\])", r"\\\1", str(value))
    raise ValueError(f"re_type is 'python' or 'posix_basic', not {re_type!r}")


FILTERS: dict[str, Callable[..., Any]] = {
    "regex_replace": regex_replace,
    "regex_search": regex_search,
    "regex_findall": regex_findall,
    "regex_escape": regex_escape,
}


def compiled(pattern: Any, ignorecase: bool = False, multiline: bool = False) -> re.Pattern[str]:
    flags = (re.IGNORECASE if ignorecase else 0) | (re.MULTILINE if multiline else 0)
    try:
        return re.compile(str(pattern), flags)
    except re.error as error:
        raise StepFailed(f"not a valid regular expression: {pattern!r}: {error}") from None


def _group(reference: str) -> int | str:
    named = re.fullmatch(r"\\g<(\S+)>", str(reference))
    if named:
        return int(named[1]) if named[1].isdigit() else named[1]
    numbered = re.fullmatch(r"\\(\d+)", str(reference))
    if numbered:
        return int(numbered[1])
    raise ValueError(rf"a group is written '\\1' or '\\g<name>', not {reference!r}")
