"""Calling ahead: once a playbook is known to be good, its first hosts are called while the rest of the program loads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from playrunner import patterns, ssh_session
from playrunner.agent_code import Seat
from playrunner.agents import Agents
from playrunner.errors import PlayrunnerError
from playrunner.inventory import Inventory
from playrunner.load.words import templar
from playrunner.model import Play
from playrunner.options import Options
from playrunner.targets import target_of
from playrunner.templating import MISSING
from playrunner.variables import Scope
from playrunner.world import World


def call_ahead(agents: Agents, inventory: Inventory, play: Play, extra: Mapping[str, Any], options: Options) -> None:
    """Start agents in the background. What goes wrong is left to the step that needs the host, which says so."""
    try:
        seats = list(_seats(inventory.with_adjacent(play.directory), play, extra, options))
    except PlayrunnerError:
        return
    if seats:
        ssh_session.prepare()
    for seat in seats[:options.forks]:
        agents.start_ahead(seat)


def _seats(inventory: Inventory, play: Play, extra: Mapping[str, Any], options: Options) -> Iterator[Seat]:
    """The login's own agents; whether a step becomes someone else is only known when it is rendered."""
    world = World(inventory, templar, extra, {})
    pattern = templar.render(play.hosts, Scope(world, "localhost"))
    for host in patterns.select(inventory, pattern, options.limit or None):
        scope = Scope(world, host)
        target = target_of(scope, words=play.keywords)
        if target.kind == "ssh" and not play.keywords.become and scope.lookup("ansible_become") is MISSING:
            yield Seat(target)
