"""playrunner-ansible: one step on some hosts, with the flags, output and exit codes of the program
`ansible`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from playrunner.commands.ansible_programs import playbook
from playrunner.commands.ansible_programs.flags import (
    add_become_flags,
    add_connection_flags,
    add_vault_flags,
)
from playrunner.commands.ansible_programs.program import BAD_OPTIONS, run_program
from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput, Place
from playrunner.inventory import patterns
from playrunner.inventory.inventory import Inventory
from playrunner.model import Keywords
from playrunner.options import Options
from playrunner.project import version

_NEED_ARGUMENTS = ("command", "shell", "raw", "script", "win_command", "win_shell")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    return run_program(_parser(), words, _run)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="playrunner-ansible",
        description="Run one module on some hosts, with the flags, output and exit codes of"
        " ansible.",
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"playrunner-ansible {version()}")
    made.add_argument("pattern", help="the hosts: names, groups or a pattern")
    made.add_argument("-m", "--module-name", help="the module (command)")
    made.add_argument("-a", "--args", default="", help="its arguments: name=value words or JSON")
    made.add_argument("-o", "--one-line", action="store_true", help="a line for each host")
    made.add_argument("-B", "--background", type=int, help="at most so many seconds, on its own")
    made.add_argument("-P", "--poll", type=int, help="seconds between two looks, with -B")
    made.add_argument("--task-timeout", type=int, help="seconds that the step may take")
    made.add_argument("--list-hosts", action="store_true", help="only list hosts")
    made.add_argument("--playbook-dir", help="also the variables beside a playbook of this folder")
    made.add_argument("-v", "--verbose", action="count", default=0, help="show more (repeat)")
    _add_run_flags(made)
    add_connection_flags(made.add_argument_group("connections"))
    add_become_flags(made.add_argument_group("privileges"))
    add_vault_flags(made.add_argument_group("vaults"))
    # What ansible-playbook has besides
    made.set_defaults(tags=[], skip_tags=[], start_at_task="", force_handlers=False)
    return made


def _add_run_flags(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "-i", "--inventory", "--inventory-file", action="append", default=[], help="the inventory"
    )
    made.add_argument("-l", "--limit", "--subset", help="only these hosts")
    made.add_argument("-e", "--extra-vars", action="append", default=[], help="name=value, @file")
    made.add_argument("-C", "--check", action="store_true", help="change nothing")
    made.add_argument("-D", "--diff", action="store_true", help="show changes line by line")
    made.add_argument("-f", "--forks", type=int, help="hosts to work on in parallel")
    made.add_argument(
        "-M", "--module-path", action="append", default=[], help="folders with modules"
    )
    made.add_argument(
        "--flush-cache", action="store_true", help="forget the kept facts of all hosts first"
    )


def _run(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    playbook.apply_module_path(arguments)
    options = playbook.options_of(arguments)
    inventory = playbook.opened_inventory(options)
    inventory.set_defaults(playbook.connection_variables(arguments), Place("command line"))
    playbook.flush_cache(arguments, inventory)
    if arguments.playbook_dir:
        inventory = inventory.with_adjacent(Path(arguments.playbook_dir))
    module = arguments.module_name or ansible_config().text("module_name", "command")
    hosts = _hosts(inventory, arguments.pattern, options.limit)
    if arguments.list_hosts:
        print(f"  hosts ({len(hosts)}):")
        for host in hosts:
            print(f"    {host}")
        return 0
    if module.rpartition(".")[2] in _NEED_ARGUMENTS and not arguments.args:
        hint = " (did you mean to run ansible-playbook?)" * arguments.pattern.endswith(".yml")
        sys.stderr.write(f"[ERROR]: No argument passed to {module} module{hint}\n")
        return BAD_OPTIONS
    return _play(arguments, module, options, inventory) if hosts else 0


def _hosts(inventory: Inventory, pattern: str, limit: str) -> list[str]:
    """The hosts of a pattern; none is a warning, unless a limit leaves none."""
    try:
        hosts = list(patterns.select(inventory, pattern, limit))
    except BadInput:
        if limit:
            raise
        hosts = []
    if not hosts and limit:
        raise BadInput(
            "Specified inventory, host pattern and/or --limit leaves us with no hosts to target."
        )
    if not hosts:
        sys.stderr.write("[WARNING]: No hosts matched, nothing to do\n")
    return hosts


def _play(
    arguments: argparse.Namespace, module: str, options: Options, inventory: Inventory
) -> int:
    from playrunner.output.adhoc_report import AdhocReport
    from playrunner.output.report import Report
    from playrunner.playbook.adhoc import one_step_play
    from playrunner.run.run import run_plays

    reports: list[AdhocReport] = []

    def report(options: Options) -> Report:
        reports.append(AdhocReport(options, arguments.one_line))
        return reports[-1]

    outer = Keywords(
        become=True if arguments.become else None,
        become_user=arguments.become_user,
        become_method=arguments.become_method,
        connection=arguments.connection,
        remote_user=arguments.remote_user,
    )
    play = one_step_play(
        arguments.pattern, module, arguments.args, False, outer, _task_keywords(arguments)
    )
    code = run_plays([play], options, f"run {module}", inventory=inventory, reported_by=report)
    return playbook.exit_code(code, reports[-1].recap.total("unreachable") if reports else 0)


def _task_keywords(arguments: argparse.Namespace) -> dict[str, Any]:
    keywords = {
        "async": arguments.background,
        "poll": arguments.poll if arguments.background else None,
        "timeout": arguments.task_timeout,
    }
    return {name: value for name, value in keywords.items() if value is not None}


if __name__ == "__main__":
    raise SystemExit(main())
