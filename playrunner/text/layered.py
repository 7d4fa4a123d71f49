"""Variables of several mappings in one, which knows where each was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playrunner.errors import Place


class Layered(dict[str, Any]):
    """Later mappings win; a variable's place is where it was written first, as Ansible tells it."""

    def __init__(self, *layers: Mapping[str, Any]) -> None:
        super().__init__()
        self._first: dict[str, Mapping[str, Any]] = {}
        for layer in layers:
            self.add(layer)

    def add(self, layer: Mapping[str, Any]) -> None:
        self.update(layer)
        for name in layer:
            self._first.setdefault(name, layer)

    def place(self, name: str) -> Place:
        return place_in(self._first.get(name, {}), name)


def place_in(variables: Mapping[str, Any], name: str) -> Place:
    """Where a variable was written, if its mapping remembers."""
    place: Place = variables.place(name) if hasattr(variables, "place") else Place("")
    return place
