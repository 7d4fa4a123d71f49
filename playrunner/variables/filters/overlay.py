"""A scope with a few more variables on top, as a template file sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any


class Overlay:
    """The variables given, and the scope behind them."""

    def __init__(self, scope: Any, extra: Mapping[str, Any]) -> None:
        self._scope, self._extra = scope, extra
        self.wait_for_steps: Callable[[], None] = scope.wait_for_steps
        self.find: Callable[[str, str], Path] = scope.find
        self.search_path: Callable[[str], list[Path]] = scope.search_path
        self.traced: Callable[[], Any] = scope.traced

    def lookup(self, name: str) -> Any:
        return self._extra[name] if name in self._extra else self._scope.lookup(name)

    def given(self, name: str) -> Any:
        return self._extra[name] if name in self._extra else self._scope.given(name)

    def names(self) -> Iterable[str]:
        return {*self._scope.names(), *self._extra}
