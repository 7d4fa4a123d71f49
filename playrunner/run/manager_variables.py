"""The variables that name a host's package or service manager for steps that do not."""

from __future__ import annotations

from typing import Any

from playrunner.variables.scope import Scope

MANAGER_VARIABLES = {"host.package": "ansible_package_use", "host.service": "ansible_service_use"}


def take_manager(values: dict[str, Any], module: str, scope: Scope) -> None:
    """Add the argument `use`, unless the step has it."""
    if values.get("use", "auto") == "auto":
        manager = scope.lookup(MANAGER_VARIABLES[module])
        if isinstance(manager, str) and manager:
            values["use"] = manager
