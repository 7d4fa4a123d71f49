"""Run a module or a command on several hosts of an inventory at once, outside of any play."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.inventory import patterns
from playrunner.inventory.inventory import Inventory
from playrunner.ssh.agent_code import AgentKey, first_bytes, prepare
from playrunner.ssh.agents import Agents
from playrunner.ssh.connection import Channel
from playrunner.ssh.dispatcher import AgentDispatcher
from playrunner.ssh.file_uploads import FileUploads
from playrunner.ssh.kept.setting import keep_seconds
from playrunner.ssh.open_files import make_room
from playrunner.ssh.pool import Pool
from playrunner.ssh.targets import Target, target_of
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING, default_templar

MOST_AT_ONCE = 64

# What the module returned; `failed` or `unreachable` with a `msg` when it could not run
Answer = dict[str, Any]
AgentStep = tuple[str, dict[str, Any]]  # a module, and its arguments


class Fleet:
    """Hosts used in parallel; each connection is opened once, and a play can reuse it."""

    def __init__(self, inventory: Inventory, extra: Mapping[str, Any] | None = None) -> None:
        self.inventory = inventory
        self.agents = Agents(Pool(keep=keep_seconds()))
        self._run_vars = RunVariables(
            inventory,
            default_templar,
            dict(extra or {}),
            {"ansible_playbook_python": sys.executable},
        )
        # Variables do not change between the plays of a command: each is rendered once for a host
        self._scopes: dict[str, Scope] = {}
        self._targets: dict[str, Target] = {}

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def select(self, pattern: str, limit: str = "") -> list[str]:
        return patterns.select(self.inventory, pattern, limit or None)

    def variable(self, host: str, name: str, default: Any = None) -> Any:
        """A host's variable, rendered."""
        value = self._scope(host).lookup(name)
        return default if value is MISSING or value is None else value

    def target(self, host: str) -> Target:
        if host not in self._targets:
            self._targets[host] = target_of(self._scope(host))
        return self._targets[host]

    def _scope(self, host: str) -> Scope:
        if host not in self._scopes:
            self._scopes[host] = Scope(self._run_vars, host)
        return self._scopes[host]

    def ask(
        self,
        hosts: Iterable[str],
        module: str,
        arguments: Callable[[str], dict[str, Any]],
        before: Mapping[str, AgentStep] | None = None,
    ) -> dict[str, Answer]:
        """Run one module on all hosts at once; a host that fails answers `unreachable`. A step that
        is to come `before` it goes with it, and its answer is not waited for."""
        hosts = list(hosts)
        if not hosts:
            return {}
        at_once = self.log_in(hosts)
        for name in {module, *(name for name, _ in (before or {}).values())}:
            prepare(name)
        with ThreadPoolExecutor(at_once) as pool:
            steps = {host: (*_steps(before, host), (module, arguments(host))) for host in hosts}
            answers = pool.map(lambda host: self._ask(host, steps[host]), hosts)
            return dict(zip(hosts, answers, strict=True))

    def log_in(self, hosts: Sequence[str]) -> int:
        """Start agents in the background; how many there can be at once."""
        at_once = make_room(len(hosts), min(MOST_AT_ONCE, len(hosts)))
        self.agents.pool.prepare()
        for host in hosts[:at_once]:
            try:
                key = AgentKey(self.target(host))
            except PlayrunnerError:
                continue  # the host's own answer says why
            if not self.agents.knows(key):
                self.agents.start_ahead(key)
        first_bytes()  # while they log in
        return at_once

    def start(self, host: str, command: str) -> Channel:
        """Start a command on a host; its input and output are the channel."""
        return self.agents.pool.get(self.target(host)).start(command)

    def forget(self, host: str) -> None:
        """Close a host's broken connection, so that the next use opens a new one, to wherever the
        host is by then."""
        self.agents.pool.drop(self.target(host))
        self._targets.pop(host, None)
        self._scopes.pop(host, None)

    def close(self) -> None:
        self.agents.close()
        self.agents.pool.close()

    def _ask(self, host: str, steps: Sequence[AgentStep]) -> Answer:
        dispatcher = AgentDispatcher(self.agents, FileUploads(), lambda text: None)
        try:
            key = AgentKey(self.target(host))
            *_, last = [
                dispatcher.send(key, module, {"args": arguments, "halt": False})
                for module, arguments in steps
            ]
            answer = dispatcher.wait(last)
            dispatcher.release()
            return answer
        except PlayrunnerError as error:
            return {"unreachable": True, "msg": str(error)}


def _steps(before: Mapping[str, AgentStep] | None, host: str) -> tuple[AgentStep, ...]:
    return (before[host],) if before and host in before else ()
