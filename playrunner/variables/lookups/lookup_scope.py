"""What a lookup may ask of the place it is written in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol


class LookupScope(Protocol):
    """The variables of a host and step, and the files beside its playbook and role."""

    def lookup(self, name: str) -> Any: ...
    def names(self) -> Iterable[str]: ...
    def wait_for_steps(self) -> None: ...
    def find(self, path: str, folder: str) -> Path: ...
    def search_path(self, folder: str) -> list[Path]: ...
