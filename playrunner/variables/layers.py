"""The layers of variables that a scope looks names up in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from playrunner.errors import Place
from playrunner.inventory.inventory import Inventory

if TYPE_CHECKING:
    from playrunner.variables.scope import Scope

Layer = tuple[Mapping[str, Any], bool]  # values, and whether they are data, never rendered again


def collected(scope: Scope) -> list[Layer]:
    """The layers of a scope, strongest first. Those that steps write to are kept when they are
    empty, since a step that the scope waits for may write to them."""
    step, play, waiter = scope.step, scope.play, scope.waiter
    role = step.role if step else None
    layers: list[Layer] = []
    if scope.run_vars.extra:
        layers.append((scope.run_vars.extra, False))
    if scope.params:
        layers.append((scope.params, False))
    if role:
        layers.append((role.params, False))
    if waiter:
        layers.append((waiter.tentative, True))
    layers += ((scope.memory("registered"), True), (scope.memory("included"), False))
    if step:
        layers += [(values, False) for values in reversed(step.keywords.vars)]
    if role:
        layers += ((role.vars, False), (role.inherited, False))
    if play:
        layers.append((play.role_vars, False))
        if scope.files:
            layers.append((scope.files, False))
        layers += ((play.prompted, False), (play.play.vars, False))
    if scope.run_vars.injects_facts:
        layers.append((scope.memory("facts"), True))
    layers.append((InventoryLayer(scope.run_vars.inventory, scope.host), False))
    if role:
        layers += ((role.defaults, False), (role.inherited_defaults, False))
    if play:
        layers.append((play.role_defaults, False))
    return layers


class InventoryLayer(Mapping[str, Any]):
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
