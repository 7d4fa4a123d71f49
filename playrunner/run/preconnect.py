"""Calling ahead: once a playbook is known to be good, its first hosts are called while the rest of
the program loads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from playrunner.errors import BadSetting, PlayrunnerError
from playrunner.inventory import patterns
from playrunner.inventory.inventory import Inventory
from playrunner.model import Play
from playrunner.options import Options
from playrunner.playbook.keywords import templar
from playrunner.ssh import session
from playrunner.ssh.agent_code import Seat
from playrunner.ssh.agents import Agents
from playrunner.ssh.targets import Target, target_of
from playrunner.variables.host_memory import PlayVariables, World
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING


def call_ahead(
    agents: Agents,
    inventory: Inventory,
    plays: Sequence[Play],
    extra: Mapping[str, Any],
    options: Options,
) -> None:
    """Start the first play's agents in the background, once every host's connection settings are
    known to be good.

    What else goes wrong is left to the step that needs the host, which says so.
    """
    checked: set[str] = set()
    reached = [list(_reached(inventory, play, extra, options, checked)) for play in plays]
    seats = (
        [Seat(target) for scope, target in reached[0] if _is_own_seat(scope, target, plays[0])]
        if plays
        else []
    )
    if seats:
        session.prepare()
    for seat in seats[: options.forks]:
        agents.start_ahead(seat)


def _reached(
    inventory: Inventory, play: Play, extra: Mapping[str, Any], options: Options, checked: set[str]
) -> Iterator[tuple[Scope, Target]]:
    """A play's hosts that no earlier play has; values that a step is still to give are not known
    here."""
    world = World(inventory.with_adjacent(play.directory), templar, extra, {})
    try:
        pattern = templar.render(play.hosts, Scope(world, "localhost"))
        hosts = patterns.select(world.inventory, pattern, options.limit or None)
    except PlayrunnerError:
        return
    for host in hosts:
        if host in checked:
            continue
        checked.add(host)
        scope = Scope(world, host, PlayVariables(play, {}))
        try:
            yield scope, target_of(scope, words=play.keywords)
        except BadSetting:
            raise
        except PlayrunnerError:
            continue


def _is_own_seat(scope: Scope, target: Target, play: Play) -> bool:
    """Whether the login's own agent is sure to be needed: becoming another user is only known when
    a step is rendered."""
    return (
        target.kind == "ssh"
        and not play.keywords.become
        and scope.lookup("ansible_become") is MISSING
    )
