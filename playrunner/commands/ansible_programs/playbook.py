"""playrunner-playbook: ansible-playbook's flags, output and exit codes, on the same engine as
`invoke play`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.commands.ansible_programs.flags import parser
from playrunner.commands.ansible_programs.program import (
    BAD_OPTIONS,
    DEFECT,
    ERROR,
    FAILED,
    INTERRUPTED,
    NOT_LOADED,
    UNREACHABLE,
    run_program,
)
from playrunner.commands.configured import configured
from playrunner.commands.flags import use_vault
from playrunner.config.ansible_config import ansible_config
from playrunner.errors import (
    BadInput,
    BadOption,
    Interrupted,
    NotLoaded,
    NotWritten,
    Place,
    PlayrunnerError,
    RunStopped,
)
from playrunner.model import Keywords, Play
from playrunner.options import Options
from playrunner.project import find_inventory, version

if TYPE_CHECKING:
    from playrunner.inventory.inventory import Inventory

_SYSTEM_INVENTORY = "/etc/ansible/hosts"


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    return run_program(parser(version()), words, _run, _code_of)


def _code_of(error: PlayrunnerError) -> int:
    if isinstance(error, BadOption):
        return BAD_OPTIONS
    if isinstance(error, RunStopped) and not isinstance(error, NotLoaded):
        return ERROR
    return NOT_LOADED if isinstance(error, BadInput) and error.place else ERROR


def _run(arguments: argparse.Namespace) -> int:
    from playrunner.commands.ansible_programs import listing

    if arguments.step:
        sys.stderr.write("[ERROR]: --step is not supported; use --start-at-task or --check\n")
        return BAD_OPTIONS
    apply_module_path(arguments)
    options = options_of(arguments)
    inventory = opened_inventory(options)
    inventory.set_defaults(connection_variables(arguments), Place("command line"))
    flush_cache(arguments, inventory)
    plays, files = _load(arguments)
    lists = arguments.list_hosts or arguments.list_tasks or arguments.list_tags
    if arguments.syntax_check or lists:
        _warn_of_reserved_names(plays, inventory, options)
    if arguments.syntax_check:
        for name in arguments.playbook:
            print(f"\nplaybook: {name}")
        return 0
    if lists:
        listing.print_listing(files, inventory, options, arguments)
        return 0
    return _play(files, options, inventory)


def _play(files: list[tuple[str, list[Play]]], options: Options, inventory: Inventory) -> int:
    from playrunner.output.ansible_report import AnsibleReport
    from playrunner.output.report import Report
    from playrunner.run.run import run_plays

    reports: list[AnsibleReport] = []

    def report(options: Options) -> Report:
        reports.append(AnsibleReport(options, playbooks=files))
        return reports[-1]

    check_limit(inventory, options)
    plays = [play for _, plays in files for play in plays]
    name = "play " + " ".join(name for name, _ in files)
    code = run_plays(plays, options, name, inventory=inventory, reported_by=report)
    if reports and isinstance(reports[-1].ended_by, RunStopped):
        return _code_of(reports[-1].ended_by)
    return exit_code(code, reports[-1].recap.total("unreachable") if reports else 0)


def _warn_of_reserved_names(plays: list[Play], inventory: Inventory, options: Options) -> None:
    from playrunner.output.ansible_report import AnsibleReport
    from playrunner.run.control.reserved_names import ReservedNames
    from playrunner.variables.extra_vars import read_extra_vars
    from playrunner.variables.host_memory import RunVariables
    from playrunner.variables.templating import default_templar

    extra = read_extra_vars(options.extra_vars)
    run_vars = RunVariables(inventory, default_templar, extra, {})
    ReservedNames(run_vars, AnsibleReport(options)).of_plays(plays)


def exit_code(code: int, unreachable: int) -> int:
    """What ansible-playbook answers where Playrunner's own commands answer `code`."""
    if code in (FAILED, UNREACHABLE):
        return UNREACHABLE if unreachable else FAILED
    translated = {
        1: DEFECT,
        BadInput.exit_code: NOT_LOADED,
        Interrupted.exit_code: INTERRUPTED,
        NotWritten.exit_code: ERROR,
    }
    return translated.get(code, code)


def _load(arguments: argparse.Namespace) -> tuple[list[Play], list[tuple[str, list[Play]]]]:
    """Every play of the playbooks, and the plays of each; flags are the outermost keywords."""
    from playrunner.playbook import load_playbook
    from playrunner.variables.extra_vars import read_extra_vars

    outer = Keywords(
        become=True if arguments.become else None,
        become_user=arguments.become_user,
        become_method=arguments.become_method,
        connection=arguments.connection,
        remote_user=arguments.remote_user,
    )
    extra = read_extra_vars(tuple(arguments.extra_vars))
    files = []
    for name in arguments.playbook:
        if not os.path.exists(name):
            raise BadInput(f"the playbook: {name} could not be found")
        if not os.path.isfile(name):
            raise BadInput(f"the playbook: {name} does not appear to be a file")
        path = Path(name).absolute()
        files.append((name, load_playbook(path, outer, extra=extra)))
    return [play for _, plays in files for play in plays], files


def options_of(arguments: argparse.Namespace) -> Options:
    values: dict[str, Any] = {
        "inventory": tuple(arguments.inventory) or default_inventory(),
        "check": arguments.check,
        "diff": arguments.diff,
        "limit": arguments.limit or "",
        "tags": ",".join(arguments.tags),
        "skip_tags": ",".join(arguments.skip_tags),
        "start_at_task": arguments.start_at_task or "",
        "extra_vars": tuple(arguments.extra_vars),
        "verbose": arguments.verbose,
        "force_handlers": arguments.force_handlers,
        "become_password": _become_password(arguments),
        "vault_id": tuple(arguments.vault_id),
        "vault_password_file": tuple(arguments.vault_password_file),
        "ask_vault_pass": arguments.ask_vault_pass,
        "lock": False,
    }
    if arguments.forks:
        values["forks"] = arguments.forks
    options = configured(Options(**values), {"forks"} if arguments.forks else ())
    use_vault(options)
    return options


def _become_password(arguments: argparse.Namespace) -> str:
    if arguments.become_password_file:
        return _secret_of(arguments.become_password_file)
    if arguments.ask_become_pass:
        import getpass

        return getpass.getpass("BECOME password: ")
    return os.environ.get("PLAYRUNNER_BECOME_PASSWORD", "")


def connection_variables(arguments: argparse.Namespace) -> dict[str, Any]:
    """Flags of connections that no keyword stands for, as the weakest variables of all hosts."""
    variables = {
        "ansible_ssh_private_key_file": arguments.private_key,
        "ansible_ssh_common_args": arguments.ssh_common_args,
        "ansible_ssh_extra_args": arguments.ssh_extra_args,
        "ansible_timeout": arguments.timeout,
    }
    if arguments.connection_password_file:
        variables["ansible_password"] = _secret_of(arguments.connection_password_file)
    elif arguments.ask_pass:
        import getpass

        variables["ansible_password"] = getpass.getpass("SSH password: ")
    return {name: value for name, value in variables.items() if value is not None}


def _secret_of(file: str) -> str:
    """The first line of a file, or of what it prints if it is a program."""
    path = Path(file).expanduser()
    if not path.is_file():
        raise BadInput("there is no such password file", Place(file))
    if os.access(path, os.X_OK):
        import subprocess

        return subprocess.check_output([str(path.absolute())], text=True).splitlines()[0]
    return (path.read_text().splitlines() or [""])[0]


def default_inventory() -> tuple[str, ...]:
    """Where ansible-playbook looks without -i; nothing there leaves the implicit localhost."""
    words = tuple(ansible_config().words("inventory"))
    return words or (_SYSTEM_INVENTORY if os.path.exists(_SYSTEM_INVENTORY) else os.devnull,)


def opened_inventory(options: Options) -> Inventory:
    """The inventory, without sources that are not there: each is a warning, as with Ansible."""
    from playrunner.inventory.sources import exists
    from playrunner.variables.asked_inventory import open_inventory

    missing = [source for source in options.inventory if not exists(find_inventory(source))]
    for source in missing:
        warn(f"Unable to parse {os.path.abspath(source)} as an inventory source")
    if missing and len(missing) == len(options.inventory):
        warn("No inventory was parsed, only implicit localhost is available")
    there = tuple(source for source in options.inventory if source not in missing)
    inventory = open_inventory(replace(options, inventory=there or (os.devnull,)))
    _warn_of_group_names(inventory)
    return inventory


def _warn_of_group_names(inventory: Inventory) -> None:
    from playrunner.inventory import group_names

    treated = ansible_config().get(group_names.SETTING) or "never"
    if treated == "always" and inventory.renamed_groups:
        warn("Invalid characters were found in group names and automatically replaced")
    elif treated == "never" and not all(map(group_names.is_valid, inventory.groups)):
        warn("Invalid characters were found in group names but not replaced")


def warn(text: str) -> None:
    sys.stderr.write(f"[WARNING]: {text}\n")


def apply_module_path(arguments: argparse.Namespace) -> None:
    """-M adds folders in front of ANSIBLE_LIBRARY, as seen by this run."""
    if arguments.module_path:
        known = filter(None, [os.environ.get("ANSIBLE_LIBRARY")])
        os.environ["ANSIBLE_LIBRARY"] = ":".join([*arguments.module_path, *known])


def flush_cache(arguments: argparse.Namespace, inventory: Inventory) -> None:
    from playrunner.variables.fact_cache import open_fact_cache

    cache = open_fact_cache(ansible_config(), arguments.check) if arguments.flush_cache else None
    if cache:
        cache.forget([*inventory.hosts, "localhost"])


def check_limit(inventory: Inventory, options: Options) -> None:
    from playrunner.inventory import patterns

    hosts = inventory.hosts
    if options.limit and hosts and not patterns.select(inventory, "all,localhost", options.limit):
        raise BadInput(
            "Specified inventory, host pattern and/or --limit leaves us with no hosts to target."
        )


if __name__ == "__main__":
    raise SystemExit(main())
