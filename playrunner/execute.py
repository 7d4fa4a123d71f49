"""Execution: plays in order, their hosts side by side, until all is done, failed or interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from playrunner import connection, patterns
from playrunner.agents import Agents
from playrunner.batch import Batch
from playrunner.connection import Pool
from playrunner.errors import BadInput, Interrupted
from playrunner.inventory import Inventory
from playrunner.ledger import Ledger
from playrunner.model import Play, Position, Step
from playrunner.options import Options
from playrunner.plan import Plan, batches, ordered
from playrunner.report import Report
from playrunner.results import Recap, Result
from playrunner.rollback import Undo
from playrunner.shipments import Shipments
from playrunner.strand import Strand
from playrunner.templating import Templar
from playrunner.variables import PlayVariables, Scope, World


class Execution:
    """One run: everything its hosts share."""

    def __init__(self, inventory: Inventory, extra: dict[str, Any], options: Options, plan: Plan, report: Report,
                 ledger: Ledger, templar: Templar) -> None:
        self.options, self.plan, self.report, self.ledger = options, plan, report, ledger
        self.world = World(inventory, templar, extra, _settings(options, inventory))
        self.pool, self.shipments = Pool(), Shipments()
        self.agents = Agents(self.pool)
        self.recap = Recap()
        self.changes: list[Undo] = []
        self.ended = False
        self.stopped = False
        self.defects = 0
        self.play_number = 0
        self._slots = threading.Semaphore(options.forks)
        self._going = threading.Event()
        self._going.set()
        self._gone: set[str] = set()  # hosts that failed or fell silent: later plays go on without them
        self._cache: dict[Hashable, Any] = {}
        self._lock = threading.Lock()
        self._batch: Batch | None = None

    # The run.

    def play_all(self, plays: Sequence[Play]) -> Recap:
        try:
            for number, play in enumerate(plays):
                if self.stopped:
                    break
                self.play_number, self.ended = number, False
                self.plan = replace(self.plan, play_number=number)
                self.play(play)
        except KeyboardInterrupt:
            raise Interrupted("interrupted") from None
        return self.recap

    def play(self, play: Play) -> None:
        self.world.inventory = self.world.inventory.with_adjacent(play.directory)
        scope = Scope(self.world, "localhost")
        hosts = patterns.select(self.world.inventory, self.world.templar.render(play.hosts, scope), self.options.limit or None)
        names = ordered([host for host in hosts if host not in self._gone], play.order)
        variables = self._variables(play, hosts)
        self.report.play_starts(play, names)
        for host in names:
            self.recap.touch(host)
            self.world.inventory.variables(host)  # a bad vars file is found before any host is touched
        serial = [self.world.templar.render(size, scope) for size in play.serial]
        for group in batches(names, serial):
            self.stopped = not self._run_batch(play, variables, group)
            if self.stopped or self.ended:
                break
        self.report.flush()

    def _variables(self, play: Play, hosts: Sequence[str]) -> PlayVariables:
        variables = PlayVariables(play, {
            "ansible_play_hosts_all": list(hosts),
            "ansible_play_hosts": lambda: [host for host in hosts if host not in self._lost()],
            "play_hosts": lambda: [host for host in hosts if host not in self._lost()],
            "ansible_play_batch": lambda: self._batch.active if self._batch else list(hosts),
            "ansible_play_role_names": [role.name for role in play.roles],
            "ansible_role_names": [role.name for role in play.roles],
        }, prompted=self._prompt(play))
        for role in play.roles:
            variables.add_role(role)
        return variables

    def _prompt(self, play: Play) -> dict[str, Any]:
        answers = {}
        for prompt in play.vars_prompt:
            name = str(prompt["name"])
            if name not in self.world.extra:
                shown = self.report.ask(str(prompt.get("prompt") or name), not prompt.get("private", True))
                answers[name] = shown or prompt.get("default", "")
        return answers

    def _lost(self) -> set[str]:
        batch = self._batch
        return self._gone | (batch.failed | batch.unreachable if batch else set())

    def _run_batch(self, play: Play, variables: PlayVariables, hosts: list[str]) -> bool:
        """The hosts through the play; False when none of them is left, which ends the run."""
        lockstep = bool(play.any_errors_fatal or play.max_fail_percentage is not None or play.strategy.endswith("linear"))
        batch = self._batch = Batch(hosts, self._slots, lockstep, self._going)
        if any(self._needs_ssh(host) for host in hosts):
            connection.prepare()
        threads = [threading.Thread(target=Strand(self, batch, variables, host).go, name=host, daemon=True)
                   for host in hosts]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(self.report.pace)
                    self.report.tick()
        except KeyboardInterrupt:
            self.interrupt(batch)
            for thread in threads:
                thread.join(5)
            raise
        self._gone |= batch.failed | batch.unreachable
        return batch.doomed_at is None and len(batch.failed | batch.unreachable) < len(hosts)

    def _needs_ssh(self, host: str) -> bool:
        told = self.world.inventory.variables(host).get("ansible_connection")
        return told is None or told.value != "local"

    def interrupt(self, batch: Batch) -> None:
        """Ctrl-C: remote work ends, hosts stop where they are."""
        self._going.clear()
        batch.wake()
        self.agents.close()

    def close(self) -> None:
        self.agents.close()
        self.pool.close()

    # What strands ask of the run.

    def intend(self, host: str, step: Step, title: str) -> None:
        self.ledger.intend(host, title, step.module, str(step.place))
        self.report.starts(host, title)

    def hear(self, result: Result) -> None:
        with self._lock:
            self.recap.add(result)
        self.ledger.hear(result)
        self.report.hear(result)

    def judge(self, batch: Batch, play: Play, position: Position, fatal: bool) -> None:
        """Whether a failed host ends the play for the others, once they have done the step that failed."""
        limit = play.max_fail_percentage
        too_many = limit is not None and 100 * len(batch.failed) / len(batch.hosts) > float(limit)
        if (fatal or too_many) and batch.doomed_at is None:
            batch.doomed_at = position

    def clear_errors(self) -> None:
        self._gone.clear()

    def cached(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Something all hosts read from the same file, loaded once."""
        with self._lock:
            if key not in self._cache:
                self._cache[key] = make()
            return self._cache[key]

    @lru_cache(maxsize=256)  # noqa: B019  one execution lives as long as the process's work
    def text_of(self, path: Path) -> str:
        """A template's text, read once for all hosts."""
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path} cannot be read as text: {error}") from None


def _settings(options: Options, inventory: Inventory) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ansible_check_mode": options.check, "ansible_diff_mode": options.diff, "ansible_forks": options.forks,
        "ansible_verbosity": options.verbose,
        "ansible_run_tags": [tag for tag in options.tags.split(",") if tag] or ["all"],
        "ansible_skip_tags": [tag for tag in options.skip_tags.split(",") if tag],
        "ansible_inventory_sources": [str(file) for file in inventory.files], "ansible_config_file": None,
        "ansible_version": {"full": "2.19.0", "major": 2, "minor": 19, "revision": 0, "string": "2.19.0"},
    }
    return {**found, "ansible_limit": options.limit} if options.limit else found
