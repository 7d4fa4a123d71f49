"""Resuming: a host that was lost goes on where it was, if `meta: clear_host_errors` clears its
error: after the other hosts are through the play, as with Ansible."""

from __future__ import annotations

from playrunner.errors import Interrupted
from playrunner.model import Play, Position, steps_of
from playrunner.run import step_traits
from playrunner.run.batch import END, Batch

_MAY_CLEAR = ("play.include_tasks", "play.include_role")


class Resuming:
    """Where a host was lost in its play, and which steps it has behind it when it is back."""

    def __init__(self, batch: Batch, play: Play, host: str) -> None:
        self._batch, self._play, self._host = batch, play, host
        self._lost_at: Position | None = None
        self._after: Position | None = None  # the steps up to here are passed

    def lose(self, position: Position) -> None:
        """The host was lost in the step at this position."""
        self._batch.unreachable.add(self._host)
        self._lost_at = position

    def is_back(self) -> bool:
        """Whether the lost host goes on; waits for the others where that may be."""
        if self._lost_at is None or not self._may_be_cleared():
            return False
        try:
            self._batch.wait_for_all(self._host, END)
        except Interrupted:
            return False
        self._after, self._lost_at = self._lost_at, None
        return self._host not in self._batch.unreachable

    def passed(self, position: Position) -> bool:
        """Whether the host has this step behind it."""
        if self._after is None or self.enters(position):
            return False
        if position <= self._after:
            return True
        self._after = None
        return False

    def enters(self, position: Position) -> bool:
        """Whether the host was lost among the steps of this include."""
        after = self._after
        return (
            after is not None and len(position) < len(after) and after[: len(position)] == position
        )

    def _may_be_cleared(self) -> bool:
        return any(
            step.module in _MAY_CLEAR
            or (step.module == "play.meta" and step_traits.meta_action(step) == "clear_host_errors")
            for section in self._play.sections
            for step in steps_of(section)
        )
