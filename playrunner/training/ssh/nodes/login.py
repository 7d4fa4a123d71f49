"""The nodes of a launch are logged in to while the rest of the program is imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.training.request import Request, read_request, wanted_nodes
from playrunner.training.ssh.nodes.hosts import open_fleet, usable_hosts


@contextmanager
def logging_in(request: Request, options: Options) -> Iterator[Fleet]:
    wanted = wanted_nodes(request, read_request(request))
    with open_fleet(options, wanted) as fleet:
        fleet.log_in(usable_hosts(fleet, options)[:wanted])
        yield fleet
