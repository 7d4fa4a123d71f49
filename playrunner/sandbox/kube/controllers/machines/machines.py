"""The machines that are nodes: every source puts its own here; control requests
add, stop and remove some.

A source (a cloud) calls `context.the(Machines).put("its name", [Machine(...), ...])` with all that
it has, whenever that changes; nothing else is asked of it. `put(..., None)` says that this source
has no cluster; while none has, there are two plain ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext


@dataclass(frozen=True)
class Machine:
    """One machine, before anybody looked at it with Kubernetes' eyes."""

    name: str
    cpu: int = 8
    memory_gib: float = 32
    pods: int = 110
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[dict[str, str], ...] = ()
    devices: dict[str, int] = field(
        default_factory=dict
    )  # as `nvidia.com/gpu`: offered only while a plugin for it runs there
    resources: dict[str, str] = field(default_factory=dict)  # offered always, as `hugepages-2Mi`
    provider_id: str = ""
    region: str = ""
    zone: str = ""
    instance_type: str = ""
    up: bool = True  # down: it crashed or lost its network; its node becomes NotReady


PLAIN = (
    Machine("kube-node-1", cpu=16, memory_gib=64, region="sandbox", zone="sandbox-a"),
    Machine("kube-node-2", cpu=16, memory_gib=64, region="sandbox", zone="sandbox-b"),
)


class Machines:
    """All machines of all sources; shared as `context.the(Machines)`."""

    def __init__(self, context: ControllerContext) -> None:
        self._lock = threading.Lock()
        self._sources: dict[str, tuple[Machine, ...] | None] = {}
        self._added: dict[str, Machine] = {}
        self._lost: set[str] = set()
        self._down: set[str] = set()
        self._listeners: list[Callable[[str], None]] = []

    def put(self, source: str, machines: list[Machine] | None) -> None:
        """Everything that a source has now; None when it has no cluster."""
        with self._steered():
            self._sources[source] = None if machines is None else tuple(machines)
            self._lost &= {
                machine.name for known in self._sources.values() for machine in known or ()
            } | {machine.name for machine in PLAIN}

    def add(self, machine: Machine) -> None:
        """One by hand, beside those of any source."""
        with self._steered():
            self._added[machine.name] = machine
            self._lost.discard(machine.name)

    def lose(self, name: str) -> None:
        """It is gone for good: its node goes, and so does all that ran there."""
        with self._steered():
            self._added.pop(name, None)
            self._lost.add(name)

    def stop(self, name: str) -> None:
        """It does not answer any more; what runs there is dead, without a report."""
        with self._steered():
            self._down.add(name)

    def start(self, name: str) -> None:
        """It is back, as after a reboot; also one of a source that was lost."""
        with self._steered():
            self._down.discard(name)
            self._lost.discard(name)

    def forget_changes(self) -> None:
        """As the sources have it."""
        with self._steered():
            self._added.clear()
            self._lost.clear()
            self._down.clear()

    def get(self, name: str) -> Machine | None:
        with self._lock:
            return self._all().get(name)

    def all(self) -> dict[str, Machine]:
        with self._lock:
            return self._all()

    def listen(self, listener: Callable[[str], None]) -> None:
        """Hear the names of machines that changed, beginning with all that are there."""
        self._listeners.append(listener)
        for name in self.all():
            listener(name)

    @contextmanager
    def _steered(self) -> Iterator[None]:
        with self._lock:
            before = self._all()
            yield
            changed = _changed(before, self._all())
        self._tell(changed)

    def _all(self) -> dict[str, Machine]:
        clusters = [known for known in self._sources.values() if known is not None]
        # A cluster in a cloud has the nodes of its node groups and no others.
        given = [machine for known in clusters for machine in known] if clusters else list(PLAIN)
        machines = {
            machine.name: machine
            for machine in [*given, *self._added.values()]
            if machine.name not in self._lost
        }
        return {
            name: replace(machine, up=name not in self._down) for name, machine in machines.items()
        }

    def _tell(self, names: set[str]) -> None:
        for listener in self._listeners:
            for name in sorted(names):
                listener(name)


def _changed(before: dict[str, Machine], after: dict[str, Machine]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
