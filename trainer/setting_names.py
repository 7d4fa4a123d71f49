"""The names of all settings, as they are written after --set."""

from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Iterator
from typing import Any

from trainer import config


def settings(kind: type = config.Profile, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting with its default."""
    hints = typing.get_type_hints(kind, vars(config))
    for each in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[each.name]):
            yield from settings(typing.cast(type, hints[each.name]), f"{path}{each.name}.")
        else:
            made = each.default_factory
            default = made() if made is not dataclasses.MISSING else each.default
            yield f"{path}{each.name}", default


def elsewhere(key: str) -> str:
    """`; did you mean "train.steps"?` for a name that some group has."""
    names: dict[str, list[str]] = {}
    for name, _ in settings():
        names.setdefault(name.rpartition(".")[2], []).append(name)
    close = difflib.get_close_matches(key, names, n=1, cutoff=0.8)
    if not close:
        return ""
    known = sorted(names[close[0]], key=lambda name: name.count("."))[:3]
    return f"; did you mean {' or '.join(map(_quoted, known))}?"


def _quoted(name: str) -> str:
    return f'"{name}"'
