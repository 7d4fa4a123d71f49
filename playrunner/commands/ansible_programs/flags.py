"""The flags of ansible-playbook, ansible and ansible-inventory."""

from __future__ import annotations

import argparse


def parser(version: str) -> argparse.ArgumentParser:
    """A parser that takes ansible-playbook's command line."""
    made = argparse.ArgumentParser(
        prog="playrunner-playbook",
        description="Run playbooks, with the flags, output and exit codes of ansible-playbook.",
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"playrunner-playbook {version}")
    made.add_argument("playbook", nargs="+", help="a playbook; several run one after another")
    made.add_argument("-v", "--verbose", action="count", default=0, help="show results (repeat)")
    _add_run_flags(made)
    _add_listing_flags(made)
    add_connection_flags(made.add_argument_group("connections"))
    add_become_flags(made.add_argument_group("privileges"))
    add_vault_flags(made.add_argument_group("vaults"))
    return made


def _add_run_flags(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "-i",
        "--inventory",
        "--inventory-file",
        action="append",
        default=[],
        help="inventory or list of hosts",
    )
    made.add_argument("-l", "--limit", "--subset", help="only these hosts")
    made.add_argument(
        "-e", "--extra-vars", action="append", default=[], help="name=value, YAML, JSON or @file"
    )
    made.add_argument(
        "-t", "--tags", action="append", default=[], help="only steps with these tags"
    )
    made.add_argument(
        "--skip-tags", action="append", default=[], help="not the steps with these tags"
    )
    made.add_argument("-C", "--check", action="store_true", help="change nothing")
    made.add_argument("-D", "--diff", action="store_true", help="show changes line by line")
    made.add_argument("-f", "--forks", type=int, help="hosts to work on in parallel")
    made.add_argument(
        "-M", "--module-path", action="append", default=[], help="folders with modules"
    )
    made.add_argument("--start-at-task", help="start at the task of this name")
    made.add_argument("--step", action="store_true", help="not supported")
    made.add_argument("--force-handlers", action="store_true", help="also after a failure")
    made.add_argument(
        "--flush-cache", action="store_true", help="forget the kept facts of all hosts first"
    )


def _add_listing_flags(made: argparse.ArgumentParser) -> None:
    made.add_argument("--syntax-check", action="store_true", help="only load the playbook")
    made.add_argument("--list-hosts", action="store_true", help="only list hosts")
    made.add_argument("--list-tasks", action="store_true", help="only list tasks")
    made.add_argument("--list-tags", action="store_true", help="only list tags")


def add_connection_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-u", "--user", dest="remote_user", help="connect as this user")
    group.add_argument("-c", "--connection", help="ssh or local")
    group.add_argument("-T", "--timeout", type=int, help="seconds to connect")
    group.add_argument("--private-key", "--key-file", help="the private key to connect with")
    group.add_argument("--ssh-common-args", help="arguments of ssh")
    group.add_argument("--ssh-extra-args", help="more arguments of ssh")
    group.add_argument("--sftp-extra-args", help="without effect: files travel over ssh itself")
    group.add_argument("--scp-extra-args", help="without effect: files travel over ssh itself")
    group.add_argument("-k", "--ask-pass", action="store_true", help="ask for the password")
    group.add_argument(
        "--connection-password-file", "--conn-pass-file", help="file with the password"
    )


def add_become_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-b", "--become", action="store_true", help="become another user")
    group.add_argument("--become-method", help="sudo or su")
    group.add_argument("--become-user", help="the user to become (root)")
    group.add_argument("-K", "--ask-become-pass", action="store_true", help="ask for a password")
    group.add_argument("--become-password-file", "--become-pass-file", help="file with it")


def add_vault_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--vault-id", action="append", default=[], help="LABEL@SOURCE")
    group.add_argument(
        "--vault-password-file", "--vault-pass-file", action="append", default=[], help="its file"
    )
    group.add_argument(
        "-J", "--ask-vault-password", "--ask-vault-pass", dest="ask_vault_pass", action="store_true"
    )
