"""Run: a playbook from its file to its exit code, the way every verb does it."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.errors import BadInput, Interrupted, NotWritten
from playrunner.inventory import patterns
from playrunner.inventory.inventory import Inventory, read_inventory
from playrunner.model import Play, steps_of
from playrunner.options import Options
from playrunner.playbook import load_playbook
from playrunner.playbook.keywords import templar
from playrunner.results import Recap
from playrunner.run.preconnect import call_ahead
from playrunner.run.selection import Plan, make_plan
from playrunner.ssh.agents import Agents
from playrunner.ssh.open_files import files_for, make_room
from playrunner.ssh.pool import Pool
from playrunner.ssh.sandbox_autostart import set_cloud_stage, set_stage
from playrunner.text.written import authored
from playrunner.variables.extra_vars import read_extra_vars

if TYPE_CHECKING:
    from playrunner.run.run_state import Shared
    from playrunner.run.survey import Survey

DEFAULT_INVENTORY = "inventories/local.yaml"


def run_playbook(playbook: str, options: Options) -> int:
    return run_plays(load_playbook(Path(playbook)), options, f"play {playbook}")


def run_plays(
    plays: Sequence[Play],
    options: Options,
    command: str,
    *,
    inventory: Inventory | None = None,
    extra: dict[str, Any] | None = None,
    agents: Agents | None = None,
    survey: Survey | None = None,
    then: Callable[[Shared], int] | None = None,
) -> int:
    """Everything from loaded plays to an exit code; bad input is raised before a host is touched.

    A verb that has read the inventory or reached its hosts already hands on what it has. With a
    survey, nothing is changed by the plays; `then` is done after them, when nothing failed, while
    the inventory is still held.
    """
    if inventory is None:
        inventory = open_inventory(options)
        steps = [step for play in plays for section in play.sections for step in steps_of(section)]
        set_cloud_stage(inventory, {step.module for step in steps})
        if any(play.hosts != "localhost" for play in plays) or any(
            step.keywords.delegate_to is not None for step in steps
        ):
            set_stage(inventory)
    # A kubeconfig of the command line is taken with its own current context, unless one is named
    # beside it.
    named = {"kubeconfig": options.kubeconfig, "kube_context": ""} if options.kubeconfig else {}
    extra = {**authored(named), **read_extra_vars(options.extra_vars), **authored(extra or {})}
    plan = make_plan(plays, options.tags, options.skip_tags, options.start_at_task)
    _check_limit(inventory, options)
    if agents is not None:
        return _run(
            plays, inventory, extra, plan, agents, options, command, survey, then, lent=True
        )
    agents = Agents(Pool())
    options = _paced(plays, inventory, agents, options)
    call_ahead(agents, inventory, plays, extra, options)
    return _run(plays, inventory, extra, plan, agents, options, command, survey, then)


def _run(
    plays: Sequence[Play],
    inventory: Inventory,
    extra: dict[str, Any],
    plan: Plan,
    agents: Agents,
    options: Options,
    command: str,
    survey: Survey | None,
    then: Callable[[Shared], int] | None,
    lent: bool = False,
) -> int:
    # Loaded only now: the hosts answer meanwhile.
    from playrunner.output.report import Report
    from playrunner.record.inventory_lock import inventory_lock
    from playrunner.record.ledger import Ledger
    from playrunner.run.execute import Execution
    from playrunner.run.rollback import roll_back
    from playrunner.run.run_state import Shared

    gc.freeze()  # what is loaded stays; only what the run itself makes is worth looking through
    gc.enable()
    report = Report(options)
    with inventory_lock(inventory.files, command, not options.no_wait, report.say_aside):
        started = time.monotonic()
        ledger = Ledger(command)
        shared = Shared(inventory, extra, options, plan, report, ledger, templar, agents, survey)
        code = 1
        try:
            with _terminated_as_interrupt():
                Execution(shared).play_all(plays)
                code = 1 if shared.defects else exit_code(shared.recap, options)
                if then and not code:
                    code = then(shared)
        except (Interrupted, KeyboardInterrupt):
            code = Interrupted.exit_code
        except BadInput as error:
            code = BadInput.exit_code
            report.say_error(error)
        finally:
            if not lent:
                shared.close()
            if code and options.rollback and shared.changes:
                report.flush()
                roll_back(shared.changes, report.say_restored)
            ledger.close(shared.recap, code, time.monotonic() - started)
            if ledger.lost:
                report.say_error(ledger.loss())
                code = code or NotWritten.exit_code
            report.finish(shared.recap, ledger.run_id, str(ledger.folder), code)
    return code


def open_inventory(options: Options) -> Inventory:
    """The inventory asked for; without one, PLAYRUNNER_INVENTORY or the embedded default."""
    given = options.inventory or tuple(filter(None, [os.environ.get("PLAYRUNNER_INVENTORY")]))
    sources = [_named(source) for source in given] or [DEFAULT_INVENTORY]
    return read_inventory(sources)


def _named(source: str) -> str:
    """`--inventory local` is inventories/local.yaml."""
    short = Path("inventories") / f"{source}.yaml"
    return (
        str(short)
        if "," not in source and not Path(source).exists() and short.is_file()
        else source
    )


def _check_limit(inventory: Inventory, options: Options) -> None:
    if options.limit:
        patterns.select(inventory, "all", options.limit)
    if options.forks < 1:
        raise BadInput(f"--forks must be at least 1, not {options.forks}")


def _paced(
    plays: Sequence[Play], inventory: Inventory, agents: Agents, options: Options
) -> Options:
    """As many hosts at once as there is room for open files; what is done makes room for the next."""
    if any("{" in str(play.hosts) for play in plays):  # known only once it is rendered
        hosts = set(inventory.hosts)
    else:
        hosts = {
            host
            for play in plays
            for host in patterns.select(inventory, play.hosts, options.limit or None)
        }
    fitting = make_room(len(hosts), options.forks)
    if fitting < options.forks:
        agents.keeps = False
        sys.stderr.write(
            f'note: {fitting} hosts at a time, since few files may be open here; "ulimit -n'
            f' {files_for(len(hosts), options.forks)}" makes room for more\n'
        )
    return replace(options, forks=fitting)


def exit_code(recap: Recap, options: Options) -> int:
    if recap.total("failed"):
        return 2
    if recap.total("unreachable"):
        return 4
    if options.check and options.exit_code and (recap.total("changed") or recap.total("unknown")):
        return 3
    return 0


class _terminated_as_interrupt:
    """SIGTERM ends a run as Ctrl-C does: remote work is ended, the recap is written."""

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGTERM, self._interrupt)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, self._before)

    def _interrupt(self, *_: object) -> None:
        raise KeyboardInterrupt


def listing(plays: Sequence[Play], options: Options, what: str) -> dict[str, Any]:
    """What a playbook would work on: its hosts, its steps or its tags, without running it."""
    plan = make_plan(plays, options.tags, options.skip_tags, options.start_at_task)
    inventory = open_inventory(options) if what == "hosts" else None
    found = []
    for number, play in enumerate(plays):
        steps = [step for section in play.sections for step in steps_of(section)]
        chosen = [step for step in steps if plan.wants(step.keywords.tags)]
        entry: dict[str, Any] = {"play": play.name, "number": number + 1}
        if inventory:
            entry["hosts"] = patterns.select(inventory, play.hosts, options.limit or None)
        elif what == "tags":
            entry["tags"] = sorted({tag for step in steps for tag in step.keywords.tags})
        else:
            entry["tasks"] = [
                {"name": step.title, "tags": sorted(step.keywords.tags), "place": str(step.place)}
                for step in chosen
            ]
        found.append(entry)
    return {"plays": found}
