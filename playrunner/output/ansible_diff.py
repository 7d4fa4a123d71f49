"""A change as the lines that Ansible's default callback prints for it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any


def ansible_diff(diff: Any, values: Mapping[str, Any]) -> Iterator[str]:
    """A unified diff with Ansible's headers: texts as they are, other states as JSON."""
    for part in diff if isinstance(diff, list) else [diff]:
        if isinstance(part, Mapping):
            yield from _of_one(part, values)


def _of_one(part: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(part.get("prepared"), str):
        yield from part["prepared"].splitlines()
        return
    before, after = part.get("before"), part.get("after")
    path = str(values.get("dest") or values.get("path") or "")
    old_texts, new_texts = _content(before), _content(after)
    if old_texts is not None or new_texts is not None:
        yield from _unified(old_texts or "", new_texts or "", part, path)
    else:
        yield from _unified(_as_json(before), _as_json(after), part, path)


def _content(state: Any) -> str | None:
    """The text of a file; None for other states."""
    if isinstance(state, str):
        return state
    if isinstance(state, Mapping) and isinstance(state.get("content"), str):
        return str(state["content"])
    return None


def _as_json(state: Any) -> str:
    if not state:
        return ""
    return json.dumps(state, sort_keys=True, indent=4, default=str) + "\n"


def _unified(old: str, new: str, part: Mapping[str, Any], path: str) -> Iterator[str]:
    old_name, new_name = part.get("before_header") or path, part.get("after_header") or path
    before = f"before: {old_name}" if old_name else "before"
    after = f"after: {new_name}" if new_name else "after"
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="")
    yield from lines
    if new and not new.endswith("\n"):
        yield "\\ No newline at end of file"
