"""ControllerFiles: when files of this machine may be read: after earlier steps that may write them.

Steps are sent ahead, and hosts do not wait for each other; a copy or template reads its file when
every earlier step that could have made it is done, on this host and on the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from playrunner.model import Node, Position, Step, steps_of
from playrunner.playbook import module_index
from playrunner.run.batch import Batch
from playrunner.text.written import is_template

if TYPE_CHECKING:
    from playrunner.run.pending import PendingSteps

_INCLUDES = ("play.include_tasks", "play.include_role")
_ONLY_READ = frozenset(
    f"host.{name}" for name in ("setup", "stat", "ping", "find", "slurp", "wait_for")
)


class ControllerFiles:
    """What one host knows of the steps that may have written files of this machine."""

    def __init__(self, batch: Batch, is_local: bool, pending: PendingSteps) -> None:
        self._batch, self._is_local, self._pending = batch, is_local, pending
        self._runs_here = False  # steps of this host that were passed may have run on this machine
        self._written = False  # by steps of any host, which this one has passed
        self._includes: list[Position] = []  # of which other hosts may have taken other files

    def pass_step(self, step: Step) -> None:
        """The host comes to a step, which it may skip and others not."""
        keywords = step.keywords
        self._runs_here = bool(
            self._runs_here or self._is_local or keywords.connection or keywords.delegate_to
        )
        if step.module == "play.fetch":
            self._written = True

    def pass_include(self, step: Step, taken: Iterable[Node]) -> None:
        """The host took or skipped an include; others may have taken another file."""
        steps = steps_of(tuple(taken))
        if any(_writes_or_includes(inner) for inner in steps):
            self._batch.writing_includes.add(step.position)
        if not steps or any(map(is_template, step.arguments.values())):
            self._includes.append(step.position)

    def pass_unseen(self, nodes: tuple[Node, ...]) -> None:
        """The host does not run these steps (rescue, handlers), others may."""
        self._written = self._written or any(map(_writes_or_includes, steps_of(nodes)))

    def wait(self) -> None:
        """Return when no earlier step can write a file of this machine any more."""
        if self._runs_here:
            self._runs_here = False
            if any(map(self._may_write, self._pending.steps())):
                self._pending.wait_for_steps()
        if len(self._batch.hosts) == 1:
            return
        if self._includes:
            last = max(self._includes)
            if not self._batch.all_started(last):
                self._pending.wait_for_steps()  # others may wait for what this host has sent
                self._batch.wait_until_started(last)
            taken = self._batch.writing_includes.intersection(self._includes)
            self._written = self._written or bool(taken)
            self._includes.clear()
        if self._written:
            self._written = False
            self._pending.wait_for_all_hosts()

    def _may_write(self, step: Step) -> bool:
        if step.module in _ONLY_READ or not module_index.runs_on_host(step.module):
            return False
        keywords = step.keywords
        return bool(self._is_local or keywords.connection or keywords.delegate_to)


def _writes_or_includes(step: Step) -> bool:
    return step.module == "play.fetch" or step.module in _INCLUDES
