"""Logs in to the jump host with the ssh client, by the inventory's settings."""

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
        raise BadInput("ssh is not installed on this machine; install the OpenSSH client")
    scope = entry.scope()
    target = target_of(scope)
    if target.kind == "local":
        raise BadInput(f"{entry.host} is this machine; no login is needed")
    home = _quoted(str(scope.lookup("jumphost_home")))
    remote_command = (
        f"PATH={home}/bin:$PATH; export PATH; cd {home}/current && {command or 'exec $SHELL -l'}"
    )
    return subprocess.run(
        [
            *ssh_command(target),
            *([] if command else ["-t"]),
            f"{target.user}@{target.address}",
            remote_command,
        ],
        check=False,
    ).returncode


def ssh_command(target: Target) -> list[str]:
    """The ssh command that reaches a host, with its key verified as the runner does."""
    known_hosts = " ".join(f'"{file}"' for file in target.known_hosts)
    command = [
        "ssh",
        "-p",
        str(target.port),
        "-o",
        f"UserKnownHostsFile={known_hosts}",
        "-o",
        f"StrictHostKeyChecking={target.checking}",
    ]
    for key in target.keys:
        command += ["-i", key]
    if target.host_key_name:
        command += ["-o", f"HostKeyAlias={target.host_key_name}"]
    if target.identities_only:
        command += ["-o", "IdentitiesOnly=yes"]
    if target.via:
        command += ["-o", f"ProxyCommand={_through(target.via)}"]
    elif target.proxy_command:
        command += ["-o", f"ProxyCommand={target.proxy_command.replace('%', '%%')}"]
    return command


def _through(via: Target) -> str:
    return shlex.join([*ssh_command(via), "-W", "[%h]:%p", f"{via.user}@{via.address}"])


def _quoted(path: str) -> str:
    """The path quoted for the login's shell, with a leading ~ as its home."""
    return f'"$HOME"/{shlex.quote(path[2:])}' if path.startswith("~/") else shlex.quote(path)
