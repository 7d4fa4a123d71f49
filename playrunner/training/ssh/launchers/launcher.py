"""What every launcher over SSH has: the processes that a node's supervisor starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from playrunner.frozen import frozen

if TYPE_CHECKING:
    from playrunner.training.ssh.job import Job, NodeSlot

Command = dict[str, Any]  # argv, environment, label: whose lines its output is
# The supervisor's own form, so that a node's log reads alike under every launcher
RANK_PREFIX = "[${rank}] "


@frozen
class SshLauncher:
    name: str
    # (job, node, the trainer's arguments, the environment of all processes) -> its commands there
    commands: Callable[[Job, NodeSlot, list[str], dict[str, str]], list[Command]]
    elastic: bool = False  # nodes may leave and join while it runs
    packages: tuple[str, ...] = ()  # that the nodes' Python must have, beside torch
