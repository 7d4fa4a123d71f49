"""A profile as the YAML file that travels to nodes and pods."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import yaml

from trainer.config import Profile

_OF_SCRIPTS = ("script", "args", "setup", "code")


def profile_text(profile: Profile) -> str:
    values = _as_lists(asdict(profile))
    if not profile.script:
        values = {key: value for key, value in values.items() if key not in _OF_SCRIPTS}
    if not profile.launch.launcher_args:
        del values["launch"]["launcher_args"]
    return yaml.safe_dump(values, sort_keys=False)


def _as_lists(value: Any) -> Any:
    """The same with lists for tuples, which YAML does not have."""
    if isinstance(value, dict):
        return {key: _as_lists(item) for key, item in value.items()}
    return [_as_lists(item) for item in value] if isinstance(value, list | tuple) else value
