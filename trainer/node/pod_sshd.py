"""A pod's own sshd and the way to the others': the run's keys and nothing else, on the pod's
address and an unprivileged port.

The keys are those of one run and come in a Secret: `key` opens every pod of it, `host_key` is what
all of them show, and both halves that may be known are beside them (.pub). What the key opens is
one command.
"""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from trainer.node import processes

PORT = 2222
KEYS = ("key", "key.pub", "host_key", "host_key.pub")
_PRIVATE_FOLDER = re.compile(r"Missing privilege separation directory: (\S+)")


class NoDaemon(Exception):
    """It cannot run here; the message says why, and what to do."""


@dataclass(frozen=True)
class Daemon:
    """`folder` is ours alone; `run` is the name under which the host key is known."""

    folder: Path
    run: str

    def take(self, keys: Path) -> None:
        """Copies that only we may read, as ssh insists: a Secret's files may be a group's."""
        for name in KEYS:
            write(self.folder / name, (keys / name).read_text())
        known = f"{self.run} {(keys / 'host_key.pub').read_text()}"
        write(self.folder / "known_hosts", known)

    def start(self, address: str, command: list[str]) -> subprocess.Popen[bytes]:
        """`command` is all that the key opens."""
        program, settings = _program("sshd"), self.folder / "sshd_config"
        write(settings, _settings(self.folder, address, command))
        tried = subprocess.run(
            [program, "-t", "-f", str(settings)], check=False, capture_output=True, text=True
        )
        needed = _PRIVATE_FOLDER.search(tried.stderr)
        if needed and os.geteuid() == 0:
            Path(needed[1]).mkdir(parents=True, exist_ok=True, mode=0o755)
        elif tried.returncode:
            raise NoDaemon(f"sshd does not accept its settings: {tried.stderr.strip()}")
        return subprocess.Popen(
            [program, "-D", "-e", "-f", str(settings)],
            stdin=subprocess.DEVNULL,
            preexec_fn=processes.end_with_parent,
        )

    def call(self, host: str, word: str) -> list[str]:
        """The command line that asks another pod for something."""
        if not (self.folder / "ssh_config").exists():
            write(self.folder / "ssh_config", _way(self.folder, self.run))
        return [_program("ssh"), "-F", str(self.folder / "ssh_config"), host, word]


def write(path: Path, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def _settings(folder: Path, address: str, command: list[str]) -> str:
    lines = [
        f"ListenAddress {address}:{PORT}",
        f"HostKey {folder}/host_key",
        f"AuthorizedKeysFile {folder}/key.pub",
        f"AllowUsers {_user()}",
        "PermitRootLogin prohibit-password",
        "PubkeyAuthentication yes",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        "UseDNS no",
        "PidFile none",
        "DisableForwarding yes",
        "PermitTTY no",
        "PermitUserRC no",
        "ClientAliveInterval 5",
        "ClientAliveCountMax 6",
        "LogLevel FATAL",  # who only looks whether it listens is an error to it
        # The folder is ours alone; sshd would look at /tmp above it, which everybody may write to.
        "StrictModes no",
        f"ForceCommand exec {shlex.join(command)}",
    ]
    return "\n".join([*lines, ""])


def _way(folder: Path, run: str) -> str:
    lines = [
        "Host *",
        f"User {_user()}",
        f"Port {PORT}",
        f"IdentityFile {folder}/key",
        "IdentitiesOnly yes",
        "BatchMode yes",
        f"HostKeyAlias {run}",
        "StrictHostKeyChecking yes",
        f"UserKnownHostsFile {folder}/known_hosts",
        "GlobalKnownHostsFile /dev/null",
        "ConnectTimeout 30",
        "ServerAliveInterval 5",
        "ServerAliveCountMax 6",
        "LogLevel ERROR",
    ]
    return "\n".join([*lines, ""])


def _program(name: str) -> str:
    found = shutil.which(
        name,
        path=os.pathsep.join(
            [os.environ.get("PATH", ""), "/usr/bin", "/usr/sbin", "/usr/local/sbin"]
        ),
    )
    if not found:
        raise NoDaemon(
            f"there is no {name} in this image: install openssh-server and openssh-client in it, or"
            " launch with --launcher job, which needs neither"
        )
    return os.path.abspath(
        found
    )  # sshd starts itself anew for each connection and wants to know from where


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise NoDaemon(
            f"user {os.geteuid()} has no name in the image's /etc/passwd, and sshd lets in named"
            " users only"
        ) from None
