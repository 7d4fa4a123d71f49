"""Handlers of one host in one play: which were notified, and in which order they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches

from playrunner.errors import BadInput, Place
from playrunner.model import Node, Step, steps_of
from playrunner.text.written import is_template
from playrunner.variables.scope import Scope


class Handlers:
    """The handlers a play and its roles define; each notified one runs once, in the order they are
    written."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self._known = steps_of(nodes)
        self._notified: list[Step] = []

    def add(self, nodes: tuple[Node, ...]) -> None:
        """Handlers that an included role brings along."""
        self._known += [step for step in steps_of(nodes) if step not in self._known]

    def notify(self, names: list[object], place: Place) -> None:
        for entry in names:
            for name in entry if isinstance(entry, list) else [entry]:
                found = self._answering(str(name))
                if not found:
                    known = [step.name for step in self._known] + [
                        topic for step in self._known for topic in step.listen
                    ]
                    close = get_close_matches(str(name), known, 1)
                    hint = f'; did you mean "{close[0]}"?' if close else ""
                    raise BadInput(f'there is no handler "{name}"{hint}', place)
                self._notified += [step for step in found if step not in self._notified]

    def notified(self, scope_of: Callable[[Step], Scope]) -> Iterator[tuple[int, Step]]:
        """Those to run now, with their number; one that a handler notifies in its turn is run as
        well."""
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

        name = str(scope.world.templar.render(step.name, scope))
        self._known[self._known.index(step)] = replace(step, name=name)


def known_names(nodes: tuple[Node, ...]) -> set[str]:
    return {name for step in steps_of(nodes) for name in (step.name, step.title, *step.listen)}
