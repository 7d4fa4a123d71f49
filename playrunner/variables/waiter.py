"""Waiter: how a scope waits for values and files that pending steps will give."""

from __future__ import annotations

from typing import Any

from playrunner.model import Position


class Waiter:
    """Waits for steps of this host and of others (PendingSteps is one)."""

    tentative: dict[str, Any]  # values of steps that are not confirmed yet
    position: Position  # of the step that was started last

    def wait_for_steps(self) -> None:
        """Wait for every pending step of this host."""

    def wait_for_files(self) -> None:
        """Wait for every earlier step that may write files of this machine."""

    def wait_for(self, name: str) -> None:
        """Wait for the pending step that registers this name, if there is one."""

    def wait_for_facts(self) -> bool:
        """Wait for pending steps that may give facts of any name; False if there are none."""
        return False

    def wait_for_all_hosts(self) -> None:
        """Wait until every host has finished the steps before this one."""

    def wait_for_host(self, host: str) -> None:
        """Wait until another host has finished the steps before this one."""
