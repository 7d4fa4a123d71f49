"""RunState: what the hosts of a run share: variables, agents, report, ledger, recap."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput, RunStopped
from playrunner.inventory.inventory import Inventory
from playrunner.model import Step
from playrunner.options import Options
from playrunner.output.report import Report
from playrunner.record.ledger import Ledger
from playrunner.results import Recap, Result
from playrunner.run.accounts import CloudAccounts
from playrunner.run.control.reserved_names import ReservedNames
from playrunner.run.selection import Plan
from playrunner.run.survey import Survey
from playrunner.ssh.agents import Agents
from playrunner.ssh.file_uploads import FileUploads
from playrunner.variables.fact_cache import open_fact_cache
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.templating import Templar

if TYPE_CHECKING:
    from playrunner.run.external.callbacks import Callbacks
    from playrunner.run.rollback import Undo


class RunState:
    """The state of one run, shared by the threads of its hosts."""

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
        self.survey = survey  # set when the run only observes what exists
        self.options, self.plan, self.report, self.ledger = options, plan, report, ledger
        self.run_vars = RunVariables(inventory, templar, extra, _settings(options, inventory))
        self.run_vars.fact_cache = open_fact_cache(
            ansible_config(), reads_only=options.check or survey is not None
        )
        self.agents, self.pool, self.uploads = agents, agents.pool, FileUploads()
        self.callbacks: Callbacks | None = None  # plugins that listen
        self.clouds = CloudAccounts(ledger, report.print_note, not options.no_wait)
        self.reserved = ReservedNames(self.run_vars, report)
        self.recap = Recap()
        self.changes: list[Undo] = []  # under --rollback: how to undo what was changed
        # Hosts that failed or were unreachable: later plays run without them
        self.failed_hosts: set[str] = set()
        # Hosts that make the run fail: a rescued host that any_errors_fatal marked does so only
        # when another play follows, like with Ansible
        self.ended_badly: set[str] = set()
        self.lost_hosts: set[str] = set()  # at the end of a play
        self.errors_cleared = False  # by `meta: clear_host_errors`
        self.play_number = 0
        self.play_ended = False  # by `meta: end_play`
        self.defects = 0
        self.refused: BadInput | None = None  # why no step can work
        self.stopped_by: RunStopped | None = None  # why the run ended for all hosts
        self._cache: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def intend(self, host: str, step: Step, title: str) -> None:
        self.ledger.intend(host, title, step.module, str(step.place))
        self.report.starts(host, title)

    def add_result(self, result: Result, step: Step | None = None) -> None:
        with self._lock:
            self.recap.add(result)
        self.ledger.add_result(result)
        if step:
            self.reserved.before_result(step, result)
        self.report.add_result(result)
        if step:
            self.reserved.after_result(step, result)
        if self.callbacks:
            self.callbacks.add_result(result)

    def cached(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A value that all hosts read from the same file, loaded once."""
        with self._lock:
            if key not in self._cache:
                self._cache[key] = make()
            return self._cache[key]

    def text_of(self, path: Path) -> str:
        """A template's text, read once for all hosts unless a step changes the file."""
        try:
            status = path.stat()
            return self._text_of(path, status.st_mtime_ns, status.st_size)
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path} cannot be read as text: {error}") from None

    @lru_cache(maxsize=256)  # noqa: B019  a RunState lives as long as the process
    def _text_of(self, path: Path, mtime: int, size: int) -> str:
        return path.read_text(encoding="utf-8")

    def close(self) -> None:
        self.pool.close()  # first: with its connection closed, an agent needs no message of its own
        self.agents.close()


def _settings(options: Options, inventory: Inventory) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "ansible_check_mode": options.check,
        "ansible_diff_mode": options.diff,
        "ansible_forks": options.forks,
        "ansible_verbosity": options.verbose,
        "ansible_run_tags": [tag for tag in options.tags.split(",") if tag] or ["all"],
        "ansible_skip_tags": [tag for tag in options.skip_tags.split(",") if tag],
        "ansible_inventory_sources": [str(file) for file in inventory.files],
        "playrunner_extra_vars": [_from_anywhere(text) for text in options.extra_vars],
        "ansible_config_file": str(config) if (config := ansible_config().file) else None,
        "ansible_playbook_python": sys.executable,
        "ansible_version": {
            "full": "2.19.0",
            "major": 2,
            "minor": 19,
            "revision": 0,
            "string": "2.19.0",
        },
    }
    return {**settings, "ansible_limit": options.limit} if options.limit else settings


def _from_anywhere(text: str) -> str:
    """--extra-vars as typed, for a command that a step starts in another folder."""
    return f"@{Path(text[1:]).expanduser().absolute()}" if text.startswith("@") else text
