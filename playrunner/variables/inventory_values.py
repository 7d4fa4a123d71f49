"""The inventory's variables of a host, as a layer of its scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playrunner.errors import Place
from playrunner.inventory.inventory import Inventory


class InventoryValues(Mapping[str, Any]):
    """The inventory's variables of a host without their origins."""

    def __init__(self, inventory: Inventory, host: str) -> None:
        self._values = inventory.variables(host)

    def __getitem__(self, name: str) -> Any:
        return self._values[name].value

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def place(self, name: str) -> Place:
        return self._values[name].place

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
