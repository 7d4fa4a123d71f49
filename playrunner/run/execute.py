"""Execution: runs plays in order, their hosts in parallel, until done, failed or interrupted."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from playrunner.errors import Interrupted
from playrunner.inventory import patterns
from playrunner.model import Play, Position
from playrunner.playbook import keyword_values
from playrunner.results import Recap
from playrunner.run.batch import Batch
from playrunner.run.control.prompts import answers
from playrunner.run.host_run import HostRun
from playrunner.run.run_state import RunState
from playrunner.run.selection import batches, ordered
from playrunner.variables.host_memory import PlayVariables
from playrunner.variables.play_vars_files import files_of_play
from playrunner.variables.scope import Scope

INTERRUPT_SECONDS = 5.0  # for the hosts' threads to end after Ctrl-C; one may wait for a dead host


class Execution:
    """One run from its first play to its last."""

    def __init__(self, shared: RunState) -> None:
        self.shared = shared
        self._slots = threading.Semaphore(shared.options.forks)
        self._running = threading.Event()
        self._running.set()
        self._batch: Batch | None = None
        self._stopped = False  # all hosts failed, or the play was aborted

    def play_all(self, plays: Sequence[Play]) -> Recap:
        self.shared.reserved.at_load(plays)
        try:
            for number, play in enumerate(plays):
                if self._stopped:
                    break
                self.shared.play_number, self.shared.play_ended = number, False
                self.shared.ended_badly |= self.shared.failed_hosts
                self.shared.plan = replace(self.shared.plan, play_number=number)
                self.play(play)
        except KeyboardInterrupt:
            raise Interrupted("interrupted") from None
        return self.shared.recap

    def play(self, play: Play) -> None:
        shared, run_vars = self.shared, self.shared.run_vars
        run_vars.inventory = run_vars.inventory.with_adjacent(play.directory)
        variables, scope = self._variables(play)
        hosts = patterns.select(
            run_vars.inventory,
            run_vars.templar.render(play.hosts, scope),
            shared.options.limit or None,
        )
        variables.settings = {**variables.settings, **self._host_lists(hosts)}
        names = ordered([host for host in hosts if host not in shared.failed_hosts], play.order)
        shared.report.play_starts(play, names)
        if shared.callbacks:
            shared.callbacks.play_starts(play)
        for host in names:
            shared.recap.touch(host)
            run_vars.inventory.variables(
                host
            )  # reads vars files: errors come before any host is touched
        serial = [run_vars.templar.render(size, scope) for size in play.serial]
        for group in batches(names, serial, play.place):
            self._stopped = not self._run_batch(play, variables, scope, group)
            if self._stopped or shared.play_ended:
                break
        shared.report.flush()

    def _variables(self, play: Play) -> tuple[PlayVariables, Scope]:
        """The variables of a play, and the scope of its own keywords: `hosts` may name an answer
        to vars_prompt."""
        run_vars, report = self.shared.run_vars, self.shared.report
        variables = PlayVariables(play, _role_names(play))
        for role in play.roles:
            variables.add_role(role)
        self.shared.reserved.of_play(variables)
        scope = Scope(run_vars, "localhost", variables, files=files_of_play(run_vars, variables))
        variables.prompted = answers(play, scope, report)
        if play.vars_prompt:
            files = files_of_play(run_vars, variables)
            scope = Scope(run_vars, "localhost", variables, files=files)
        return variables, scope

    def _host_lists(self, hosts: Sequence[str]) -> dict[str, Any]:
        return {
            "ansible_play_hosts_all": list(hosts),
            "ansible_play_hosts": lambda position: self._remaining(hosts, position),
            "play_hosts": lambda position: self._remaining(hosts, position),
            "ansible_play_batch": lambda position: (
                self._batch.remaining(position) if self._batch else list(hosts)
            ),
        }

    def _most_failed(self, play: Play, scope: Scope) -> float | None:
        if play.max_fail_percentage is None:
            return None
        return keyword_values.number(
            "max_fail_percentage", play.max_fail_percentage, scope, play.place
        )

    def _remaining(self, hosts: Sequence[str], position: Position | None) -> list[str]:
        """The play's hosts, without those that had failed or ended before this position."""
        batch, failed = self._batch, self.shared.failed_hosts
        return [
            host
            for host in hosts
            if host not in failed and not (batch and batch.has_left(host, position))
        ]

    def _run_batch(
        self, play: Play, variables: PlayVariables, scope: Scope, hosts: list[str]
    ) -> bool:
        """Run the play on these hosts; False when all of them failed, which ends the run."""
        lockstep = bool(
            play.any_errors_fatal
            or play.max_fail_percentage is not None
            or play.strategy.endswith("linear")
            # Hosts that are this machine see each other's files, so their order matters
            or any(not self._needs_ssh(host) for host in hosts)
            or play.keywords.connection == "local"
        )
        batch = self._batch = Batch(
            hosts, self._slots, self._running, lockstep, self._most_failed(play, scope)
        )
        run_vars = self.shared.run_vars
        run_vars.start_batch()
        if any(self._needs_ssh(host) for host in hosts):
            self.shared.pool.prepare()
        threads = [
            threading.Thread(
                target=HostRun(
                    self.shared, batch, variables, host, is_local=not self._needs_ssh(host)
                ).go,
                name=host,
                daemon=True,
            )
            for host in hosts
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(self.shared.report.pace)
                    self.shared.report.tick()
        except KeyboardInterrupt:
            self.interrupt(batch)
            ends = time.monotonic() + INTERRUPT_SECONDS  # for all of them, however many
            for thread in threads:
                if thread.is_alive():  # the interrupt may have come before all were started
                    thread.join(max(0.0, ends - time.monotonic()))
            raise
        batch.mark_rest()
        left = batch.failed | batch.unreachable | batch.marked
        self.shared.failed_hosts |= left
        self.shared.ended_badly |= batch.failed
        self.shared.lost_hosts |= batch.unreachable
        return batch.aborted_at is None and len(left) < len(hosts)

    def _needs_ssh(self, host: str) -> bool:
        connection = self.shared.run_vars.inventory.variables(host).get("ansible_connection")
        return connection is None or connection.value != "local"

    def interrupt(self, batch: Batch) -> None:
        """Ctrl-C: stop remote work, and every host at its current step."""
        self._running.clear()
        batch.wake()
        self.shared.agents.close()


def _role_names(play: Play) -> dict[str, list[str]]:
    """The names of a play's roles: those that it lists itself, and those that they depend on."""
    listed = list(dict.fromkeys(role.name for role in play.roles if not role.parents))
    needed = list(dict.fromkeys(role.name for role in play.roles if role.parents))
    return {
        "role_names": listed,
        "ansible_play_role_names": listed,
        "ansible_dependent_role_names": needed,
        "ansible_role_names": list(dict.fromkeys((*needed, *listed))),
    }
