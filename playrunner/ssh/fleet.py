"""Fleet: some hosts of an inventory, reached together outside of any play: asked, or given a
program to run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.inventory import patterns
from playrunner.inventory.inventory import Inventory
from playrunner.playbook.keywords import templar
from playrunner.ssh import session
from playrunner.ssh.agent_code import Seat
from playrunner.ssh.agents import Agents
from playrunner.ssh.connection import Channel
from playrunner.ssh.dispatcher import Courier
from playrunner.ssh.file_uploads import Shipments
from playrunner.ssh.open_files import make_room
from playrunner.ssh.pool import Pool
from playrunner.ssh.targets import Target, target_of
from playrunner.variables.host_memory import World
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

MOST_AT_ONCE = 64

Answer = dict[
    str, Any
]  # what the module returned; `failed` or `unreachable` with a `msg` when it could not


class Fleet:
    """Hosts that answer side by side. Connections are opened once, and can be handed on to a play."""

    def __init__(self, inventory: Inventory, extra: Mapping[str, Any] | None = None) -> None:
        self.inventory = inventory
        self.agents = Agents(Pool())
        self._world = World(
            inventory, templar, dict(extra or {}), {"ansible_playbook_python": sys.executable}
        )

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def select(self, pattern: str, limit: str = "") -> list[str]:
        return patterns.select(self.inventory, pattern, limit or None)

    def variable(self, host: str, name: str, default: Any = None) -> Any:
        """A host's variable, rendered."""
        found = Scope(self._world, host).lookup(name)
        return default if found is MISSING or found is None else found

    def target(self, host: str) -> Target:
        return target_of(Scope(self._world, host))

    def ask(
        self, hosts: Iterable[str], module: str, arguments: Callable[[str], dict[str, Any]]
    ) -> dict[str, Answer]:
        """One module on every host at once; a host that does not answer says so in its own answer."""
        hosts = list(hosts)
        if not hosts:
            return {}
        session.prepare()
        with ThreadPoolExecutor(make_room(len(hosts), min(MOST_AT_ONCE, len(hosts)))) as pool:
            answers = pool.map(lambda host: self._ask(host, module, arguments(host)), hosts)
            return dict(zip(hosts, answers, strict=True))

    def start(self, host: str, command: str) -> Channel:
        """A program on a host, with its input and output."""
        return self.agents.pool.get(self.target(host)).start(command)

    def forget(self, host: str) -> None:
        """A host's connection broke: the next one is a new one."""
        self.agents.pool.drop(self.target(host))

    def close(self) -> None:
        self.agents.close()
        self.agents.pool.close()

    def _ask(self, host: str, module: str, arguments: dict[str, Any]) -> Answer:
        courier = Courier(self.agents, Shipments(), lambda text: None)
        try:
            seat = Seat(self.target(host))
            answer = courier.wait(courier.send(seat, module, {"args": arguments, "halt": False}))
            courier.release()
            return answer
        except PlayrunnerError as error:
            return {"unreachable": True, "msg": str(error)}
