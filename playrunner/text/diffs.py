"""Formats what a change does, line by line."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

MOST_LINES = 400  # of one diff


def diff_lines(diff: Mapping[str, Any] | list[Any]) -> Iterator[str]:
    """Fields as `name: old -> new`, texts as a unified diff."""
    if isinstance(diff, list):
        for part in diff:
            yield from diff_lines(part)
        return
    before, after = diff.get("before"), diff.get("after")
    if isinstance(before, str) or isinstance(after, str):
        old_name = diff.get("before_header") or diff.get("after_header") or ""
        new_name = diff.get("after_header") or old_name
        yield from _unified(str(before or ""), str(after or ""), str(old_name), str(new_name))
        return
    if "prepared" in diff:
        yield from str(diff["prepared"]).splitlines()[:MOST_LINES]
    if not isinstance(before, dict) or not isinstance(after, dict):
        yield from _whole(before, after)
        return
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if _is_text(old) or _is_text(new):
            yield from _unified(str(old or ""), str(new or ""), name)
        else:
            yield f"- {name}: {_short(old)}"
            yield f"+ {name}: {_short(new)}"


def _whole(before: Any, after: Any) -> Iterator[str]:
    for sign, state in (("-", before), ("+", after)):
        if not isinstance(state, dict):
            if state is not None:
                yield f"{sign} {_short(state)}"
            continue
        for name, value in state.items():
            if _is_text(value):
                old, new = (value, "") if sign == "-" else ("", value)
                yield from _unified(str(old), str(new), name)
            else:
                yield f"{sign} {name}: {_short(value)}"


def _unified(old: str, new: str, name: str, new_name: str = "") -> Iterator[str]:
    headers = f"before: {name}", f"after: {new_name or name}"
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *headers, lineterm="")
    for number, line in enumerate(lines):
        if number >= MOST_LINES:
            yield f"... more than {MOST_LINES} lines"
            return
        yield line


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\n" in value


def _short(value: Any) -> str:
    return (
        "(absent)"
        if value is None
        else value
        if isinstance(value, str)
        else json.dumps(value, default=str)
    )
