"""A profile as the YAML file that travels to nodes and pods."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import yaml

from trainer.config import Profile


def profile_text(profile: Profile) -> str:
    return yaml.safe_dump(_as_lists(asdict(profile)), sort_keys=False)


def _as_lists(value: Any) -> Any:
    """The same with lists for tuples, which YAML does not have."""
    if isinstance(value, dict):
        return {key: _as_lists(item) for key, item in value.items()}
    return [_as_lists(item) for item in value] if isinstance(value, list | tuple) else value
