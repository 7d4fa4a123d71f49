"""Settings that a rehearsal may choose in any pretend cloud: how long things take, and what a cloud
adds to that."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar


class BadSetting(ValueError):
    """There is no such setting, or not with such a value."""


@dataclass
class Settings:
    """A cloud gives the names and usual lengths of its delays, and further fields of its own."""

    DELAYS: ClassVar[dict[str, float]] = {}  # seconds from a request to its end
    TABLES: ClassVar[tuple[str, ...]] = ("quotas",)  # fields that are added to, not replaced

    delays: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.delays = {**self.DELAYS, **self.delays}

    def change(self, changes: dict[str, Any]) -> None:
        unknown = sorted(set(changes) - set(self.summary()))
        if unknown:
            raise BadSetting(
                f"unknown setting {', '.join(unknown)}; valid are: {', '.join(self.summary())}"
            )
        for name, value in changes.items():
            if name == "delays":
                self._change_delays(value)
            elif name in self.TABLES:
                getattr(self, name).update(value)
            else:
                setattr(self, name, value)

    def _change_delays(self, changes: dict[str, Any]) -> None:
        unknown = sorted(set(changes) - set(self.DELAYS) - {"*"})
        if unknown:
            raise BadSetting(
                f"unknown delay {', '.join(unknown)}; valid are: *, {', '.join(self.DELAYS)}"
            )
        everywhere = changes.get("*")
        if everywhere is not None:
            self.delays = dict.fromkeys(self.DELAYS, float(everywhere))
        self.delays.update(
            {name: float(seconds) for name, seconds in changes.items() if name != "*"}
        )

    def summary(self) -> dict[str, Any]:
        return asdict(self)
