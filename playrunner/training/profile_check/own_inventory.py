"""The inventory that a profile is made for: the one that names it in train_profiles."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from playrunner import project
from playrunner.config.ansible_config import ansible_config
from playrunner.errors import PlayrunnerError
from playrunner.options import Options
from playrunner.text.documents import read_yaml

SETTING = "train_profiles"


def own_inventory(profile: str) -> str:
    """Its file, the project's own first; empty where none names the profile."""
    for folder in project.folders("inventories"):
        for path in sorted(folder.glob("*.yaml")):
            if profile in _profiles(path):
                return str(path)
    return ""


def with_own_inventory(options: Options, profile: str) -> Options:
    """Where nothing else says which inventory is meant, the profile's own."""
    named = options.inventory or os.environ.get("PLAYRUNNER_INVENTORY")
    if named or ansible_config().words("inventory") or Path(project.PROJECT_INVENTORY).is_file():
        return options
    own = own_inventory(profile)
    return replace(options, inventory=(own,)) if own else options


def _profiles(path: Path) -> list[Any]:
    try:
        text: Any = read_yaml(path)
    except PlayrunnerError:
        return []  # whoever uses it is told what is wrong with it
    for name in ("all", "vars"):
        text = text.get(name) if isinstance(text, dict) else None
    profiles = text.get(SETTING) if isinstance(text, dict) else None
    return profiles if isinstance(profiles, list) else []
