"""Handlers of one host in one play: which were notified, and in which order they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from playrunner.errors import BadInput, Place
from playrunner.model import Node, Step, steps_of
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.written import is_template
from playrunner.variables.scope import Scope


class Handlers:
    """The handlers of a play and its roles; each notified one runs once, in the order they are
    written."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self._known = steps_of(nodes)
        self._notified: list[Step] = []

    def add(self, nodes: tuple[Node, ...]) -> None:
        """Add the handlers of an included role."""
        self._known += [step for step in steps_of(nodes) if step not in self._known]

    def notify(self, names: list[object], place: Place) -> None:
        for entry in names:
            for name in entry if isinstance(entry, list) else [entry]:
                handlers = self._answering(str(name))
                if not handlers:
                    names_and_topics = [step.name for step in self._known] + [
                        topic for step in self._known for topic in step.listen
                    ]
                    hint = did_you_mean(name, names_and_topics)
                    raise BadInput(f'there is no handler "{name}"{hint}', place)
                self._notified += [step for step in handlers if step not in self._notified]

    def notified(self, scope_of: Callable[[Step], Scope]) -> Iterator[tuple[int, Step]]:
        """The notified handlers with their numbers, including those that a handler notifies."""
        for step in self._known:
            if is_template(step.name):
                self._rendered(step, scope_of)
        while self._notified:
            step = min(self._notified, key=self._known.index)
            self._notified.remove(step)
            yield self._known.index(step), step

    def _answering(self, name: str) -> list[Step]:
        listening = [step for step in self._known if name in step.listen]
        named = [step for step in self._known if name in (step.name, step.title)]
        # The last definition of a name is the one that counts, so that a play can replace a role's
        # handler.
        return [*named[-1:], *(step for step in listening if step not in named[-1:])]

    def _rendered(self, step: Step, scope_of: Callable[[Step], Scope]) -> None:
        scope = scope_of(step)
        from dataclasses import replace

        name = str(scope.run_vars.templar.render(step.name, scope))
        self._known[self._known.index(step)] = replace(step, name=name)


def known_names(nodes: tuple[Node, ...]) -> set[str]:
    return {name for step in steps_of(nodes) for name in (step.name, step.title, *step.listen)}
