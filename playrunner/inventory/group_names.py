"""Names of groups, and what `force_valid_group_names` makes of those that no variable could
have."""

from __future__ import annotations

import re

from playrunner.config.ansible_config import ansible_config

SETTING = "force_valid_group_names"
_NOT_IN_A_NAME = re.compile(r"^[\d\W]|[^\w]")


def is_valid(name: str) -> bool:
    return not _NOT_IN_A_NAME.search(name)


def safe_group_name(name: str) -> str:
    """A name that a source makes up: everything in it replaced that no variable's may have."""
    return name if ansible_config().get(SETTING) == "ignore" else _NOT_IN_A_NAME.sub("_", name)


def given_group_name(name: str) -> str:
    """A name that was written: replaced only where the setting asks for it."""
    if is_valid(name) or ansible_config().get(SETTING) not in ("always", "silently"):
        return name
    return _NOT_IN_A_NAME.sub("_", name)
