"""The settings of a profile that runs a script of the user's own."""

from __future__ import annotations

import shlex
from typing import Any

from trainer.errors import BadInput
from trainer.profile_text import Located, shown

KEYS = ("args", "environment", "setup", "code")  # beside `script`


def settings(given: Located) -> Located:
    """The same in the schema's form: `args` as texts, `environment` in `launch`, and no number of
    steps unless one is given, since only the script knows it."""
    if not given.get("script"):
        for key in KEYS:
            if given.get(key):
                raise BadInput(f'{given.location(key)}: "{key}" is for profiles with a "script"')
        return given
    merged = Located(given, given.locations)
    for key in ("script", "setup", "code"):
        if merged.get(key) is not None and not isinstance(merged[key], str):
            raise BadInput(f"{given.location(key)}: {key} is text, not {shown(merged[key])}")
    if "args" in merged:
        merged["args"] = _words(merged["args"], given.location("args"))
    if "environment" in merged:
        _place(merged, "launch", "environment", merged.pop("environment"))
    train = merged.get("train")
    if not isinstance(train, Located) or "steps" not in train:
        _place(merged, "train", "steps", 0)
    return merged


def _words(value: Any, location: str) -> list[str]:
    if isinstance(value, str):
        try:
            return shlex.split(value)
        except ValueError as error:
            raise BadInput(f"{location}: args: {error}") from None
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise BadInput(f"{location}: args is a list or a line of text, not {shown(value)}")
    for each in value:
        if isinstance(each, bool) or not isinstance(each, str | int | float):
            raise BadInput(f"{location}: args: write {shown(each)} as text, in quotes")
    return [str(each) for each in value]


def _place(merged: Located, group: str, key: str, value: Any) -> None:
    below = merged.get(group)
    if below is not None and not isinstance(below, Located):
        return  # the schema refuses it
    inner = Located(below or {}, dict(below.locations) if below else {})
    if isinstance(value, dict) and isinstance(inner.get(key), dict):
        value = {**inner[key], **value}
    inner[key] = value
    inner.locations.setdefault(key, merged.locations.get(key, merged.location("script")))
    merged[group] = inner
    merged.locations.setdefault(group, merged.location("script"))
