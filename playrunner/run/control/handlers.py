"""Handlers of one host in one play: which were notified, and in which order they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import Place, PlayrunnerError, RunStopped
from playrunner.model import Node, Step, steps_of
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.written import is_template
from playrunner.variables.scope import Scope


class Handlers:
    """The handlers of a play and its roles; each notified one runs once, in the order they are
    written.

    Like with Ansible, a notification is kept as it is written and looked up when handlers run, and
    a handler that notifies an earlier one leaves it for the next time."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.scope_of: Callable[[Step], Scope] | None = None
        self.warn: Callable[[str], None] = lambda text: None
        self._known = steps_of(nodes)
        self._notifications: list[str] = []
        self._notified: list[Step] = []
        self._running = False

    def add(self, nodes: tuple[Node, ...]) -> None:
        """Add the handlers of an included role."""
        self._known += [step for step in steps_of(nodes) if step not in self._known]

    def notify(self, names: list[object], place: Place) -> None:
        self._render_names()
        for entry in names:
            for name in entry if isinstance(entry, list) else [entry]:
                handlers = self._answering(str(name))
                if not handlers:
                    names_and_topics = [step.name for step in self._known] + [
                        topic for step in self._known for topic in step.listen
                    ]
                    hint = did_you_mean(name, names_and_topics)
                    text = (
                        f"The requested handler '{name}' was not found in either the main handlers"
                        f" list nor in the listening handlers list{hint}"
                    )
                    if ansible_config().flag("error_on_missing_handler", True):
                        raise RunStopped(text, place)
                    self.warn(text)
                    continue
                if self._running:
                    self._mark(handlers)
                elif str(name) not in self._notifications:
                    self._notifications.append(str(name))

    def notified(self) -> Iterator[tuple[int, Step]]:
        """The notified handlers with their numbers, including later ones that they notify."""
        self._render_names()
        for name in self._notifications:
            self._mark(self._answering(name))
        self._notifications.clear()
        self._running, number = True, 0
        try:
            while self._notified and number < len(self._known):
                step = self._known[number]
                if step in self._notified:
                    self._notified.remove(step)
                    yield number, step
                number += 1
        finally:
            self._running = False

    def _mark(self, handlers: list[Step]) -> None:
        self._notified += [step for step in handlers if step not in self._notified]

    def _answering(self, name: str) -> list[Step]:
        """The handler of this name in the last file that has one, so that a play can replace a
        role's; and those that listen, of equal names the one in the last file."""
        files = [list(steps) for _, steps in groupby(self._known, _file_of)]
        ordered = [step for steps in reversed(files) for step in steps]
        named = [step for step in ordered if name in (step.name, *_with_role(step, step.name))][:1]
        listening: dict[object, Step] = {}
        for step in ordered:
            if any(name in (topic, *_with_role(step, topic)) for topic in step.listen):
                listening.setdefault(step.name or id(step), step)
        return [*named, *(step for step in listening.values() if step not in named)]

    def _render_names(self) -> None:
        for number, step in enumerate(self._known):
            if is_template(step.name) and self.scope_of:
                scope = self.scope_of(step)
                try:
                    name = str(scope.run_vars.templar.render(step.name, scope))
                except PlayrunnerError as error:  # it may need a variable that is not known yet
                    if not step.listen:
                        self.warn(
                            f"Handler '{step.name}' is unusable because it has no listen topics and"
                            " the name could not be templated (host-specific variables are not"
                            f" supported in handler names). The error: {error}"
                        )
                    continue
                self._known[number] = replace(step, name=name)


def _with_role(step: Step, name: str) -> Iterator[str]:
    """The name behind that of the handler's role, with and without the role's collection."""
    if step.role:
        yield f"{step.role.name} : {name}"
        yield f"{step.role.short_name} : {name}"


def _file_of(step: Step) -> tuple[object, ...]:
    return (id(step.role) if step.role else None, step.directory)
