"""Which texts can name a variable."""

from __future__ import annotations

from typing import Any

RULE = "letters, digits and _ only, and no word that expressions read as a value, such as none"
_VALUES = frozenset({"true", "false", "none", "True", "False", "None", "not"})


def is_variable_name(name: Any) -> bool:
    """As in Ansible: an identifier that no expression reads as a value."""
    return isinstance(name, str) and name.isidentifier() and name.isascii() and name not in _VALUES
