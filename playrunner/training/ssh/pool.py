"""The hosts of an inventory as a launch over SSH may use them, and the quarantine that this machine
keeps of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.quarantine import DEFAULT_TIME, Quarantine, seconds_of
from playrunner.training.ssh.hosts import open_fleet, usable_hosts


class HostPool:
    def __init__(self, fleet: Fleet, options: Options, wanted: int) -> None:
        self.store, self.wanted = Quarantine(fleet), wanted
        self.quarantine = str(fleet.variable("localhost", "train_quarantine", DEFAULT_TIME))
        self.seconds = seconds_of(self.quarantine)
        self._usable = usable_hosts(fleet, options)

    def left(self, without: Collection[str]) -> list[str]:
        return [host for host in self._usable if host not in without]

    def where(self, left: list[str]) -> str:
        return f"with {', '.join(left[: self.wanted])}"


@contextmanager
def host_pool(options: Options, wanted: int) -> Iterator[HostPool]:
    with open_fleet(options) as fleet:
        yield HostPool(fleet, options, wanted)
