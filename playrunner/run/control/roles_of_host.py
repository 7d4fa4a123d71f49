"""RolesOfHost: which roles have run on a host, so that one that is named again does not."""

from __future__ import annotations

from playrunner.model import Role, RoleMention
from playrunner.run.inflight import InFlightStep


class RolesOfHost:
    """A role has run if it came to its end and a step of it was not skipped: one whose steps were
    all skipped has its turn again, as with Ansible."""

    def __init__(self) -> None:
        self._ended: list[RoleMention] = []
        self._with_steps: dict[int, Role] = {}  # of which a step was not skipped

    def add_step(self, inflight: InFlightStep) -> None:
        role = inflight.step.role
        if role and not inflight.silent and not inflight.is_skipped():
            self._with_steps[id(role)] = role

    def end(self, mention: RoleMention) -> None:
        self._ended.append(mention)

    def has_run(self, mention: RoleMention) -> bool:
        return mention in self._ended and any(
            role.mention == mention for role in self._with_steps.values()
        )
