"""Private keys for logins: read once, refused when other users can read them, as OpenSSH does."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from playrunner.errors import HostUnreachable

if TYPE_CHECKING:
    import paramiko

DEFAULTS = ("~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519")


def key_options(files: tuple[str, ...]) -> dict[str, Any]:
    """paramiko's options for the keys: those named, or else those in ~/.ssh."""
    if not files:
        return _default_keys()
    options: dict[str, Any] = {"look_for_keys": False}
    keys = [key for key in map(_private_key, files) if key]
    if keys:
        options["pkey"] = keys[0]
    others = [file for file in files[1:] if os.path.isfile(file)]
    if others:
        options["key_filename"] = others
    return options


def locked_key_remedy(files: tuple[str, ...]) -> str:
    """After a refused login: what a key behind a passphrase needs; empty where there is none."""
    locked = [file for file in files or _existing_defaults() if _is_locked(file)]
    if not locked:
        return ""
    return (
        f"; the private key {locked[0]} has a passphrase and no ssh agent offered it: run ssh-add"
        f" {shlex.quote(locked[0])} in the shell that has SSH_AUTH_SOCK"
    )


def _is_locked(file: str) -> bool:
    try:
        return _private_key(file) is None
    except HostUnreachable:
        return False


def _existing_defaults() -> list[str]:
    return [file for file in map(os.path.expanduser, DEFAULTS) if os.path.isfile(file)]


@cache
def _default_keys() -> dict[str, Any]:
    """The keys in ~/.ssh that OpenSSH would use; one that other users can read is skipped with a
    warning."""
    existing = _existing_defaults()
    bad = {file: problem for file in existing if (problem := _too_open(file))}
    if not bad:
        return {"look_for_keys": True}
    for problem in bad.values():
        sys.stderr.write(f"warning: {problem}; it is not used\n")
    return {"look_for_keys": False, "key_filename": [file for file in existing if file not in bad]}


def _too_open(file: str) -> str:
    """What is wrong with the mode of a key of this user, and what to do; OpenSSH's rule."""
    status = os.stat(file)
    if status.st_uid != os.getuid() or not status.st_mode & 0o077:
        return ""
    return (
        f"the private key {file} can be read by others (mode {stat.S_IMODE(status.st_mode):04o});"
        f" run: chmod 600 {shlex.quote(file)}"
    )


@cache
def _private_key(file: str) -> paramiko.PKey | None:
    """A key read once for all hosts; one behind a passphrase is left to the ssh agent."""
    import paramiko

    if not os.path.isfile(file):
        raise HostUnreachable(
            f"the private key {file} does not exist; see ansible_ssh_private_key_file"
        )
    problem = _too_open(file)
    if problem:
        raise HostUnreachable(problem)
    try:
        return paramiko.PKey.from_path(file)
    except paramiko.PasswordRequiredException:
        return None
    except (paramiko.SSHException, OSError, ValueError, TypeError) as error:
        if "encrypted" in str(error) or "assword" in str(error):
            return None
        raise HostUnreachable(f"the private key {file} cannot be read: {error}") from None
