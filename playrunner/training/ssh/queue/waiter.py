"""`python -m playrunner.training.ssh.queue.waiter NAME`: waits for a launch's turn and for its
nodes, then launches it. It belongs to no terminal; one that died is started again by the next
command that looks at the queue."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.ssh.fleet import Fleet
from playrunner.text.streams import visible
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.queue.entries import (
    FAILED,
    STARTED,
    STARTING,
    WAITING,
    Entry,
    Queue,
    waiting_again,
)
from playrunner.training.ssh.queue.free_nodes import address_of, free_nodes
from playrunner.training.ssh.queue.processes import start_dead_ones

POLL_SECONDS = 1.0
LOOK_SECONDS = 2.0  # between two looks at nodes that are not free
MOST_STARTS = 5  # nodes that were free may be taken by the time a launch begins


class Waiter:
    def __init__(self, name: str) -> None:
        self.name, self.queue, self.starts = name, Queue(), 0

    def run(self) -> int:
        with self.queue.lock():  # whoever started this process has written it down by then
            entry = self._own()
        if entry is None:
            return 0
        options = entry.launch_options()
        from playrunner.commands.flags import use_vault

        try:
            use_vault(options)
            with open_fleet(options, entry.nodes) as fleet:
                return self._wait(fleet)
        except PlayrunnerError as error:
            return self._fail(str(error))
        except Exception as error:
            # This is where the process ends: whoever asks for the queue reads it there
            self._fail(f"{type(error).__name__}: {error}")
            raise

    def _wait(self, fleet: Fleet) -> int:
        while True:
            start_dead_ones(self.queue)
            with self.queue.lock():
                entry = self._own()
            if entry is None:
                return 0
            ahead = self.queue.ahead(entry)
            if ahead:
                self._note(f"after {', '.join(each.name for each in ahead)}")
                time.sleep(POLL_SECONDS)
                continue
            chosen = self._choose(fleet, entry)
            if chosen is None:
                time.sleep(LOOK_SECONDS)
                continue
            code = self._launch(fleet, chosen)
            if code is not None:
                return code

    def _choose(self, fleet: Fleet, entry: Entry) -> Entry | None:
        """The entry with its nodes, written down as starting; None while they are not free."""
        request, options = entry.launch_request(), entry.launch_options()
        taken = self.queue.taken()
        free = free_nodes(fleet, request, options, taken)
        if len(free.hosts) < entry.nodes:
            self._note(free.note(entry.nodes))
            return None
        hosts = tuple(free.hosts[: entry.nodes])
        addresses = tuple(address_of(fleet, host) for host in hosts)
        with self.queue.lock():
            own = self._own()
            if own is None or self.queue.ahead(own) or self.queue.taken() & set(addresses):
                return None
            starting = replace(own, state=STARTING, hosts=hosts, taken=addresses, note="")
            return self.queue.write(starting)

    def _launch(self, fleet: Fleet, entry: Entry) -> int | None:
        """The launch's exit code; None where its nodes were taken meanwhile."""
        from playrunner.training.ssh.launch import launch

        self.starts += 1
        request = replace(entry.launch_request(), detach=True, notify="")
        options = replace(entry.launch_options(), limit=",".join(entry.hosts), json=False)
        try:
            with open_fleet(options) as fresh:  # it may have waited for days
                code = launch(request, options, fresh)
        except BadInput as error:
            return self._fail(str(error))
        except PlayrunnerError as error:
            usable = free_nodes(fleet, request, options, ())
            if self.starts >= MOST_STARTS or set(entry.hosts) <= set(usable.hosts):
                return self._fail(str(error))
            self._change(lambda own: waiting_again(own, usable.note(entry.nodes)))
            return None
        if code:
            return self._fail(f"the launch ended with {code}; its output is in {self._log()}")
        if entry.request["detach"]:
            with self.queue.lock():
                self.queue.remove(self.name)
        else:  # whoever waits takes it from there
            self._change(lambda own: replace(own, state=STARTED, note=""))
        return 0

    def _own(self) -> Entry | None:
        """The entry while it is this process's; it is not after it was cancelled."""
        entry = self.queue.read(self.name)
        mine = entry and entry.state in (WAITING, STARTING) and entry.owner.pid == os.getpid()
        return entry if mine else None

    def _change(self, change: Callable[[Entry], Entry]) -> None:
        with self.queue.lock():
            own = self._own()
            if own is not None:
                self.queue.write(change(own))

    def _note(self, text: str) -> None:
        own = self.queue.read(self.name)
        if own is None or own.note != text:
            self._change(lambda own: replace(own, note=text))

    def _fail(self, reason: str) -> int:
        sys.stderr.write(visible(f"{self.name} was not launched: {reason}") + "\n")
        self._change(lambda own: replace(own, state=FAILED, hosts=(), taken=(), note=reason))
        return 1

    def _log(self) -> str:
        return str(self.queue.log(self.name))


if __name__ == "__main__":
    sys.argv[0] = os.environ.get("PLAYRUNNER_QUEUED_BY", sys.argv[0])  # for printed commands
    sys.exit(Waiter(sys.argv[1]).run())
