"""Preconnect: open the SSH connections of the first play while the rest of the program imports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadSetting, PlayrunnerError
from playrunner.inventory import patterns
from playrunner.inventory.inventory import Inventory
from playrunner.model import Play
from playrunner.options import Options
from playrunner.ssh.agent_code import AgentKey
from playrunner.ssh.agents import Agents
from playrunner.ssh.targets import Target, target_of
from playrunner.variables.host_memory import PlayVariables, RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING, default_templar


def preconnect(
    agents: Agents,
    inventory: Inventory,
    plays: Sequence[Play],
    extra: Mapping[str, Any],
    options: Options,
) -> None:
    """Start the first play's agents in the background, once every host's connection settings are
    checked.

    Other errors are left to the step that needs the host, which reports them.
    """
    checked: set[str] = set()
    reached = [list(_reached(inventory, play, extra, options, checked)) for play in plays]
    keys = (
        [
            AgentKey(target)
            for scope, target in reached[0]
            if _needs_login_agent(scope, target, plays[0])
        ]
        if plays
        else []
    )
    if keys:
        agents.pool.prepare()
    for key in keys[: options.forks]:
        agents.start_ahead(key)


def _reached(
    inventory: Inventory, play: Play, extra: Mapping[str, Any], options: Options, checked: set[str]
) -> Iterator[tuple[Scope, Target]]:
    """A play's hosts that no earlier play has; a host whose settings depend on a step is left
    out."""
    run_vars = RunVariables(inventory.with_adjacent(play.directory), default_templar, extra, {})
    try:
        pattern = default_templar.render(play.hosts, Scope(run_vars, "localhost"))
        hosts = patterns.select(run_vars.inventory, pattern, options.limit or None)
    except PlayrunnerError:
        return
    for host in hosts:
        if host in checked:
            continue
        checked.add(host)
        scope = Scope(run_vars, host, PlayVariables(play, {}))
        try:
            yield scope, target_of(scope, words=play.keywords)
        except BadSetting:
            raise
        except PlayrunnerError:
            continue


def _needs_login_agent(scope: Scope, target: Target, play: Play) -> bool:
    """Whether an agent of the login user is certainly needed: with become, the user is only known
    when a step is rendered."""
    return (
        target.kind == "ssh"
        and not play.keywords.become
        and not ansible_config().flag("become")
        and scope.lookup("ansible_become") is MISSING
    )
