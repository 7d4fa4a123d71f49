"""Views: variables as mappings that look each name up when it is read: `vars`, `hostvars`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playrunner.variables.templating import MISSING, Scope


class View(Mapping[str, Any]):
    """A scope as a mapping: `vars`, and each entry of `hostvars`."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __getitem__(self, name: str) -> Any:
        value = self._scope.given(name)
        if value is MISSING:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return self._scope.given(str(name)) is not MISSING

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.names())

    def __len__(self) -> int:
        return sum(1 for _ in self)


class HostVars(Mapping[str, Any]):
    """Every host's variables; reading another host's waits until it is as far as the reader."""

    def __init__(self, scope: Any) -> None:
        self._scope = scope

    def __getitem__(self, host: str) -> View:
        if host not in self and host != "localhost":
            raise KeyError(host)
        return View(self._scope.beside(host))

    def __contains__(self, host: object) -> bool:
        return host in self._scope.run_vars.inventory.hosts

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.run_vars.inventory.hosts)

    def __len__(self) -> int:
        return len(self._scope.run_vars.inventory.hosts)
