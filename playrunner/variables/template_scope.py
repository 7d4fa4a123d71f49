"""What a template needs of a scope; playrunner.variables.scope.Scope is one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Protocol

# What a scope answers when it has no variable of a name.
MISSING: Final = object()


class Scope(Protocol):
    """What templates of one host and step can see."""

    def lookup(self, name: str) -> Any: ...
    def given(self, name: str) -> Any: ...
    def names(self) -> Iterable[str]: ...
    def wait_for_steps(self) -> None: ...
    def find(self, path: str, folder: str) -> Path: ...
    def search_path(self, folder: str) -> list[Path]: ...
    def traced(self) -> TracedScope: ...


class TracedScope(Scope, Protocol):
    """The same, noting the names it read whose values no author wrote."""

    foreign: list[str]
