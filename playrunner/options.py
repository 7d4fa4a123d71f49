"""Options: what a user can ask of any run; the fields with a help text are the flags of verbs."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from playrunner.frozen import frozen


def _flag(default: Any, help: str) -> Any:
    """A field that is a flag as well; one whose default is a tuple may be given several times."""
    return field(default=default, metadata={"help": help})


@frozen
class Options:
    """How a run goes about its work."""

    inventory: tuple[str, ...] = _flag(
        (), "inventory file, folder, script, or a name under inventories/; may be repeated"
    )
    check: bool = _flag(False, "show what would change, and change nothing")
    diff: bool = _flag(False, "show changes line by line")
    limit: str = _flag("", "only these hosts of the inventory (a pattern, or @file)")
    tags: str = _flag("", "only steps with one of these tags (comma-separated)")
    skip_tags: str = _flag("", "skip steps with one of these tags (comma-separated)")
    start_at_task: str = _flag("", "start at the step of this name")
    extra_vars: tuple[str, ...] = _flag(
        (), "variables that override all others: name=value, JSON, or @file; may be repeated"
    )
    kubeconfig: str = _flag("", "use this kubeconfig's current context, not the inventory's")
    forks: int = _flag(32, "how many hosts to work on in parallel")
    json: bool = _flag(False, "print one JSON object on stdout, and nothing else there")
    yes: bool = _flag(False, "do not ask before deleting")
    rollback: bool = _flag(False, "undo this run's changes when a step fails")
    verbose: int = _flag(
        0, "show each step's values; also sets ansible_verbosity (may be repeated)"
    )
    force_handlers: bool = _flag(False, "run notified handlers even if a step failed")
    exit_code: bool = _flag(False, "with --check: exit with code 3 if something would change")
    no_wait: bool = _flag(False, "fail instead of waiting while another run holds the inventory")
    vault_password_file: tuple[str, ...] = _flag(
        (), "file with the vault password, or a program that prints it; may be repeated"
    )
    vault_id: tuple[str, ...] = _flag(
        (), "vault id: LABEL@FILE, LABEL@prompt, or a file alone; may be repeated"
    )
    ask_vault_pass: bool = _flag(False, "ask for the vault password")
    lock: bool = True  # False: do not wait for other runs on the inventory, as with Ansible
    quiet: bool = False  # the verb prints its own output; only errors are reported
    become_password: str = field(default="", repr=False)  # --ask-become-pass
