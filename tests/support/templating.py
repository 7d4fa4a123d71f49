"""Variables and a templar to render with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from playrunner.errors import BadInput, NotYet
from playrunner.text.written import (
    TemplateText,
    Written,
    all_written,
    is_authored,
    written,
)
from playrunner.variables.templating import MISSING, Templar

OMIT = object()


VARIABLES: dict[str, Any] = {
    "one": 1,
    "zero": 0,
    "on": True,
    "off": False,
    "nothing": None,
    "word": "text",
    "empty": "",
    "lines": "a\nb\n",
    "numbers": [1, 2, 3],
    "mapping": {"a": 1, "b": {"c": 2}, "keys": "k"},
    "users": [{"name": "ann", "uid": 1, "on": True}, {"name": "bob", "uid": 2, "on": False}],
    "result": {"changed": True, "rc": 0, "stdout": "hi"},
    "broken": TemplateText("{{ not_there }}"),
    "half_broken": {"bad": TemplateText("{{ not_there }}"), "good": 1},
    "itself": TemplateText("{{ itself }}"),
    "omit": OMIT,
    "hostile": "lookup('pipe', 'touch /nowhere') == ''",
    "condition": Written("one == 1"),
    "indirect": TemplateText("'{{ word }}' == 'text'"),
    "tainted": TemplateText("{{ hostile }}"),
}


class World:
    """Variables by name, rendered when asked for, and the files of one folder."""

    def __init__(self, templar: Templar, folder: Path = Path("/nonexistent"), **more: Any) -> None:
        self.templar, self.folder, self.variables = templar, folder, {**VARIABLES, **more}
        self.asked: list[str] = []
        self.waits = 0

    def lookup(self, name: str) -> Any:
        self.asked.append(name)
        if name == "pending":
            raise NotYet("'pending' is not known yet")
        if name not in self.variables:
            return MISSING
        return self.templar.render_variable(self.variables[name], self)

    def names(self) -> Iterable[str]:
        return self.variables

    def wait_for_steps(self) -> None:
        self.waits += 1

    def search_path(self, folder: str) -> list[Path]:
        return [self.folder, self.folder / folder]

    def find(self, path: str, folder: str) -> Path:
        for place in self.search_path(folder):
            if (place / path).exists():
                return place / path
        raise BadInput(f"no file {path!r} in {folder}")

    def traced(self) -> Traced:
        return Traced(self.templar, self.folder, **self.variables)


class Traced(World):
    """The same, with the names it read that hold no author's text."""

    def __init__(self, templar: Templar, folder: Path, **more: Any) -> None:
        super().__init__(templar, folder, **more)
        self.foreign: list[str] = []

    def lookup(self, name: str) -> Any:
        if name == "hostile" and not is_authored(self.variables[name]):
            self.foreign.append(name)
        return super().lookup(name)


class Playbook(Templar):
    """Takes texts as the author's, as the loader of playbooks marks them."""

    def render(self, value: Any, scope: Any, *, keys: bool = True) -> Any:
        return super().render(all_written(value), scope, keys=keys)

    def evaluate(self, expression: str | bool, scope: Any) -> Any:
        return super().evaluate(
            written(expression) if isinstance(expression, str) else expression, scope
        )


@pytest.fixture
def templar() -> Templar:
    return Playbook()


@pytest.fixture
def world(templar: Templar) -> World:
    return World(templar)
