"""Logging in to the jump host with the plain ssh client, by what the inventory says of it."""

from __future__ import annotations

import shlex
import shutil
import subprocess

from playrunner.errors import BadInput
from playrunner.jumphost.inventory_file import Entry
from playrunner.ssh.targets import Target, target_of


def log_in(entry: Entry, command: str = "") -> int:
    """ssh's exit status, which is the command's."""
    if not shutil.which("ssh"):
        raise BadInput("there is no ssh on this machine; install OpenSSH's client")
    scope = entry.scope()
    target = target_of(scope)
    if target.kind == "local":
        raise BadInput(f"{entry.host} is this machine; there is nothing to log in to")
    home = _quoted(str(scope.lookup("jumphost_home")))
    there = (
        f"PATH={home}/bin:$PATH; export PATH; cd {home}/current && {command or 'exec $SHELL -l'}"
    )
    return subprocess.run(
        [
            *ssh_words(target),
            *([] if command else ["-t"]),
            f"{target.user}@{target.address}",
            there,
        ],
        check=False,
    ).returncode


def ssh_words(target: Target) -> list[str]:
    """The command line that reaches a host with its key verified as the runner does it."""
    known = " ".join(f'"{file}"' for file in target.known_hosts)
    words = [
        "ssh",
        "-p",
        str(target.port),
        "-o",
        f"UserKnownHostsFile={known}",
        "-o",
        f"StrictHostKeyChecking={target.checking}",
    ]
    for key in target.keys:
        words += ["-i", key]
    if target.host_key_name:
        words += ["-o", f"HostKeyAlias={target.host_key_name}"]
    if target.identities_only:
        words += ["-o", "IdentitiesOnly=yes"]
    if target.via:
        words += ["-o", f"ProxyCommand={_through(target.via)}"]
    elif target.proxy_command:
        words += ["-o", f"ProxyCommand={target.proxy_command.replace('%', '%%')}"]
    return words


def _through(via: Target) -> str:
    return shlex.join([*ssh_words(via), "-W", "[%h]:%p", f"{via.user}@{via.address}"])


def _quoted(path: str) -> str:
    """The path as the login's shell takes it, with the tilde still meaning its home."""
    return f'"$HOME"/{shlex.quote(path[2:])}' if path.startswith("~/") else shlex.quote(path)
