"""A variable of a launched process, and whether its value may be shown."""

from __future__ import annotations

import re
from dataclasses import field

from playrunner.frozen import frozen


@frozen
class Variable:
    """A variable of a launched process, why it has its value, and who asked for it."""

    name: str
    value: str = field(repr=False)  # may be a secret, and a repr ends up in logs
    reason: str
    origin: str
    beaten: tuple[Variable, ...] = ()  # what it would have been otherwise, nearest first
    hidden: bool = False  # given as a secret, whatever its name

    @property
    def secret(self) -> bool:
        by_name = any(
            re.search("(TOKEN|TOKENS|KEY|KEYS|SECRET|PASSWORD|PASSWD)$", part)
            for part in self.name.upper().split("_")
        )
        return self.hidden or by_name or re.search(r"://[^/@\s]*:[^/@\s]+@", self.value) is not None

    @property
    def shown(self) -> str:
        """The value as it may be printed."""
        return "(hidden)" if self.secret else self.value
