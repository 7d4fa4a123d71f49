"""Shared: everything the hosts of a run have in common, and where each tells what it does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.inventory.inventory import Inventory
from playrunner.model import Step
from playrunner.options import Options
from playrunner.output.report import Report
from playrunner.record.ledger import Ledger
from playrunner.results import Recap, Result
from playrunner.run.accounts import Clouds
from playrunner.run.rollback import Undo
from playrunner.run.selection import Plan
from playrunner.run.survey import Survey
from playrunner.ssh.agents import Agents
from playrunner.ssh.file_uploads import Shipments
from playrunner.variables.host_memory import World
from playrunner.variables.templating import Templar


class Shared:
    """One run, as its hosts see it."""

    def __init__(
        self,
        inventory: Inventory,
        extra: dict[str, Any],
        options: Options,
        plan: Plan,
        report: Report,
        ledger: Ledger,
        templar: Templar,
        agents: Agents,
        survey: Survey | None = None,
    ) -> None:
        self.survey = survey  # when the run only looks at what is there
        self.options, self.plan, self.report, self.ledger = options, plan, report, ledger
        self.world = World(inventory, templar, extra, _settings(options, inventory))
        self.agents, self.pool, self.shipments = agents, agents.pool, Shipments()
        self.clouds = Clouds(ledger)
        self.recap = Recap()
        self.changes: list[Undo] = []  # under --rollback: what was changed, and the way back
        self.gone: set[str] = (
            set()
        )  # hosts that failed or fell silent: later plays go on without them
        self.play_number = 0
        self.play_ended = False  # by `meta: end_play`
        self.defects = 0
        self._cache: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def intend(self, host: str, step: Step, title: str) -> None:
        self.ledger.intend(host, title, step.module, str(step.place))
        self.report.starts(host, title)

    def hear(self, result: Result) -> None:
        with self._lock:
            self.recap.add(result)
        self.ledger.hear(result)
        self.report.hear(result)

    def cached(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Something all hosts read from the same file, loaded once."""
        with self._lock:
            if key not in self._cache:
                self._cache[key] = make()
            return self._cache[key]

    @lru_cache(maxsize=256)  # noqa: B019  one of these lives as long as the process's work
    def text_of(self, path: Path) -> str:
        """A template's text, read once for all hosts."""
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path} cannot be read as text: {error}") from None

    def close(self) -> None:
        self.agents.close()
        self.pool.close()


def _settings(options: Options, inventory: Inventory) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ansible_check_mode": options.check,
        "ansible_diff_mode": options.diff,
        "ansible_forks": options.forks,
        "ansible_verbosity": options.verbose,
        "ansible_run_tags": [tag for tag in options.tags.split(",") if tag] or ["all"],
        "ansible_skip_tags": [tag for tag in options.skip_tags.split(",") if tag],
        "ansible_inventory_sources": [str(file) for file in inventory.files],
        "ansible_config_file": None,
        "ansible_playbook_python": sys.executable,
        "ansible_version": {
            "full": "2.19.0",
            "major": 2,
            "minor": 19,
            "revision": 0,
            "string": "2.19.0",
        },
    }
    return {**found, "ansible_limit": options.limit} if options.limit else found
