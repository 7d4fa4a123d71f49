"""The hosts of an inventory as a launch over SSH may use them, and the quarantine that this machine
keeps of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from playrunner.options import Options
from playrunner.project import program
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.quarantine import Quarantine
from playrunner.training.quarantine_setting import read_setting
from playrunner.training.ssh.nodes.hosts import open_fleet, usable_hosts


class HostPool:
    def __init__(self, fleet: Fleet, options: Options, wanted: int) -> None:
        self.store, self.wanted = Quarantine(fleet), wanted
        setting = read_setting(fleet.variable("localhost", "train_quarantine", ""))
        self.quarantine, self.seconds = setting.time, setting.seconds
        self._usable = usable_hosts(fleet, options)

    def left(self, without: Collection[str]) -> list[str]:
        return [host for host in self._usable if host not in without]

    def told(self, leaving: list[str]) -> str:
        return (
            f"quarantined: {', '.join(leaving)} ({program()} nodes.list shows it, nodes.release"
            " ends it)"
        )

    def out_told(self, leaving: list[str]) -> str:
        return (
            f"and quarantined for {self.quarantine}; there is no spare node. Once it is repaired:"
            f" {program()} nodes.release {','.join(leaving)}"
        )

    def where(self, left: list[str]) -> str:
        return f"with {', '.join(left[: self.wanted])}"


@contextmanager
def host_pool(options: Options, wanted: int) -> Iterator[HostPool]:
    with open_fleet(options) as fleet:
        yield HostPool(fleet, options, wanted)
