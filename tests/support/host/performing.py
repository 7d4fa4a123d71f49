"""Doing one step in this very process, as the agent does it on a host."""

from __future__ import annotations

import io
import os
from typing import Any

from playrunner.hostside.agent import Wire
from playrunner.hostside.host_context import HostContext
from playrunner.hostside.module import Failed, Module
from playrunner.hostside.perform import perform, restore


def context(check: bool = False, diff: bool = False) -> HostContext:
    return HostContext(
        Wire(io.BytesIO(), os.open(os.devnull, os.O_WRONLY)),
        {"id": 1, "check": check, "diff": diff},
    )


def done(module: Module, **how: bool) -> dict[str, Any]:
    """The result of a step."""
    return perform(module, context(**how))


def undone(module: Module, before: Any, **how: bool) -> dict[str, Any]:
    """The result of putting an earlier state back."""
    return restore(module, before, context(**how))


def failure(module: Module, **how: bool) -> Failed:
    """How a step fails; that it does is the point."""
    try:
        result = perform(module, context(**how))
    except Failed as failed:
        return failed
    raise AssertionError(f"it did not fail: {result}")
