"""Run: a playbook from its file to its exit code, as every command runs it."""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from playrunner import project
from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput, Interrupted, NotWritten
from playrunner.inventory import patterns
from playrunner.inventory.inventory import Inventory
from playrunner.model import Play, steps_of
from playrunner.options import Options
from playrunner.playbook import load_playbook
from playrunner.results import Recap
from playrunner.run.preconnect import preconnect
from playrunner.run.selection import Plan, make_plan
from playrunner.ssh.agents import Agents
from playrunner.ssh.kept.setting import keep_seconds
from playrunner.ssh.open_files import all_fit, files_for, make_room
from playrunner.ssh.pool import Pool
from playrunner.ssh.sandbox_autostart import (
    ensure_cloud_sandbox_running,
    ensure_registry_running,
    ensure_sandbox_running,
)
from playrunner.text.layered import Layered
from playrunner.text.written import authored
from playrunner.variables.asked_inventory import open_inventory
from playrunner.variables.extra_vars import read_extra_vars
from playrunner.variables.templating import default_templar

if TYPE_CHECKING:
    from playrunner.output.report import Report
    from playrunner.run.run_state import RunState
    from playrunner.run.survey import Survey

COLLECT_AFTER = 20_000  # objects more than were freed, before cycles among them are looked for


def run_playbook(playbook: str, options: Options) -> int:
    extra = read_extra_vars(options.extra_vars)
    plays = load_playbook(project.find_playbook(playbook), extra=extra)
    return run_plays(plays, options, f"play {playbook}")


def run_plays(
    plays: Sequence[Play],
    options: Options,
    command: str,
    *,
    inventory: Inventory | None = None,
    extra: dict[str, Any] | None = None,
    agents: Agents | None = None,
    survey: Survey | None = None,
    then: Callable[[RunState], int] | None = None,
    reported_by: Callable[[Options], Report] | None = None,
) -> int:
    """Run loaded plays; returns the exit code. Bad input is raised before a host is touched.

    A command that has read the inventory or connected to its hosts passes those on. With a survey,
    the plays change nothing. `then` runs after them if nothing failed, while the inventory is still
    locked.
    """
    _note_configuration(bool(options.verbose))
    plan = make_plan(plays, options.tags, options.skip_tags, options.start_at_task)
    if inventory is None:
        inventory = open_inventory(options)
        steps = [step for play in plays for section in play.sections for step in steps_of(section)]
        ensure_cloud_sandbox_running(inventory, {step.module for step in steps})
        if any(step.module.startswith("image.") and plan.may_select(step) for step in steps):
            ensure_registry_running(inventory)
        if any(play.hosts != "localhost" for play in plays) or any(
            step.keywords.delegate_to is not None for step in steps
        ):
            ensure_sandbox_running(inventory)
    # A kubeconfig of the command line is used with its own current context, unless one is named.
    kubeconfig = (
        {"kubeconfig": options.kubeconfig, "kube_context": ""} if options.kubeconfig else {}
    )
    given = read_extra_vars(options.extra_vars)
    extra = Layered(authored(kubeconfig), given, authored(extra or {}))
    _check_limit(inventory, options)
    if agents is not None:
        return _run(
            plays, inventory, extra, plan, agents, options, command, survey, then, lent=True
        )
    agents = Agents(Pool(keep=keep_seconds()))
    options = _paced(plays, inventory, agents, options)
    preconnect(agents, inventory, plays, extra, options)
    return _run(plays, inventory, extra, plan, agents, options, command, survey, then, reported_by)


def _run(
    plays: Sequence[Play],
    inventory: Inventory,
    extra: dict[str, Any],
    plan: Plan,
    agents: Agents,
    options: Options,
    command: str,
    survey: Survey | None,
    then: Callable[[RunState], int] | None,
    reported_by: Callable[[Options], Report] | None = None,
    lent: bool = False,
) -> int:
    # Imported only now: meanwhile the hosts answer.
    from playrunner.output.report import Report
    from playrunner.record.inventory_lock import inventory_lock
    from playrunner.record.ledger import Ledger
    from playrunner.run.control.warnings import warn_of_refusals, warn_of_repeated_keys
    from playrunner.run.execute import Execution
    from playrunner.run.external.callbacks import open_callbacks
    from playrunner.run.run_state import RunState

    if not gc.isenabled():  # by the program, while it loaded; a test runs many in one process
        gc.freeze()  # imported modules stay; only objects of the run itself are worth collecting
        # A run makes hundreds of objects for each step of each host, few of them in cycles
        gc.set_threshold(COLLECT_AFTER)
        gc.enable()
    report = reported_by(options) if reported_by else Report(options)
    warn_of_repeated_keys(report.print_note)
    warn_of_refusals(plays, report.print_note)
    locked = inventory_lock(inventory.files, command, not options.no_wait, report.print_note)
    with locked if options.lock else nullcontext():
        started = time.monotonic()
        ledger = Ledger(command, check=options.check, diff=options.diff or options.check)
        shared = RunState(
            inventory, extra, options, plan, report, ledger, default_templar, agents, survey
        )
        code = 1
        try:
            with _terminated_as_interrupt():
                shared.callbacks = open_callbacks(plays, report)
                Execution(shared).play_all(plays)
                if shared.stopped_by:
                    raise shared.stopped_by
                code = 1 if shared.defects else _exit_code(shared)
                if shared.refused is not None and code:
                    code = shared.refused.exit_code
                if then and not code:
                    code = then(shared)
        except (Interrupted, KeyboardInterrupt):
            code = Interrupted.exit_code
            if going_on := report.waiting():
                report.print_note(
                    f"stopped; this goes on without us, and may cost by the hour:"
                    f" {', '.join(going_on)}; {project.program()} audit shows what is there and"
                    " what it costs, the same command goes on with it"
                )
        except BadInput as error:
            code = error.exit_code
            report.print_error(error)
        finally:
            shared.clouds.release()
            if not lent:
                shared.close()
            if code and options.rollback and shared.changes:
                report.flush()
                from playrunner.run.rollback import roll_back

                roll_back(shared.changes, report.print_restored)
            if shared.callbacks:
                report.flush()
                shared.callbacks.finish(shared.recap)
            ledger.close(shared.recap, code, time.monotonic() - started)
            if ledger.lost:
                report.print_error(ledger.loss())
                code = code or NotWritten.exit_code
            report.finish(shared.recap, ledger.run_id, str(ledger.folder), code)
    return code


@cache
def _note_configuration(verbose: bool) -> None:
    """Say once why a configuration file is not read, and which settings have no effect."""
    config = ansible_config()
    for warning in config.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    if verbose and config.without_effect:
        sys.stderr.write(
            f"note: settings of {config.file or 'the environment'} that have no effect here:"
            f" {', '.join(config.without_effect)}\n"
        )


def _check_limit(inventory: Inventory, options: Options) -> None:
    if options.limit:
        patterns.select(inventory, "all", options.limit)
    if options.forks < 1:
        raise BadInput(f"--forks must be at least 1, not {options.forks}")


def _paced(
    plays: Sequence[Play], inventory: Inventory, agents: Agents, options: Options
) -> Options:
    """The options with --forks limited by how many files may be open."""
    if any("{" in str(play.hosts) for play in plays):  # rendered only when the play starts
        hosts = set(inventory.hosts)
    else:
        hosts = {
            host
            for play in plays
            for host in patterns.select(inventory, play.hosts, options.limit or None)
        }
    fitting = make_room(len(hosts), options.forks)
    agents.keep_idle = all_fit(len(hosts), fitting)
    if fitting < options.forks:
        sys.stderr.write(
            f"note: running {fitting} hosts at a time because of the open file limit; raise it with"
            f' "ulimit -n {files_for(len(hosts), options.forks)}"\n'
        )
    return replace(options, forks=fitting)


def _exit_code(shared: RunState) -> int:
    code = exit_code(shared.recap, shared.options)
    if code in (2, 4) and shared.errors_cleared and not shared.ended_badly:
        # By `meta: clear_host_errors`; what was lost after it counts
        return 4 if shared.lost_hosts else 0
    return code if code in (2, 4) or not shared.ended_badly else 2


def exit_code(recap: Recap, options: Options) -> int:
    if recap.total("failed"):
        return 2
    if recap.total("unreachable"):
        return 4
    if options.check and options.exit_code and (recap.total("changed") or recap.total("unknown")):
        return 3
    return 0


class _terminated_as_interrupt:
    """SIGTERM ends a run like Ctrl-C: remote work is stopped, the recap is written."""

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGTERM, self._interrupt)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, self._before)

    def _interrupt(self, *_: object) -> None:
        raise KeyboardInterrupt


def listing(plays: Sequence[Play], options: Options, what: str) -> dict[str, Any]:
    """The hosts, steps or tags of a playbook, without running it."""
    plan = make_plan(plays, options.tags, options.skip_tags, options.start_at_task)
    inventory = open_inventory(options) if what == "hosts" else None
    entries = []
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
        entries.append(entry)
    return {"plays": entries}
