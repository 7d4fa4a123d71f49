"""RolesOfHost: which roles have run on a host, so that one that is named again does not."""

from __future__ import annotations

from collections import Counter

from playrunner.model import Role, RoleMention
from playrunner.run.inflight import InFlightStep


class RolesOfHost:
    """A role has run if it came to its end and a step of it ran: one whose steps were all skipped,
    or did not reach the host, has its turn again, as with Ansible."""

    def __init__(self) -> None:
        self._ended: list[RoleMention] = []
        self._roles: dict[int, Role] = {}
        self._steps: Counter[int] = Counter()  # of each role, that ran

    def add_step(self, inflight: InFlightStep) -> None:
        role = inflight.step.role
        if role and not inflight.silent and not inflight.is_skipped():
            self._roles[id(role)] = role
            self._steps[id(role)] += 1

    def remove_step(self, inflight: InFlightStep) -> None:
        """It did not reach the host."""
        self._steps[id(inflight.step.role)] -= 1

    def end(self, mention: RoleMention) -> None:
        self._ended.append(mention)

    def has_ended(self, mention: RoleMention) -> bool:
        return mention in self._ended

    def has_run(self, mention: RoleMention) -> bool:
        return self.has_ended(mention) and any(
            role.mention == mention for key, role in self._roles.items() if self._steps[key] > 0
        )
