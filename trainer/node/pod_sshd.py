"""A pod's own sshd and the ssh commands to other pods: only the run's keys, on the pod's address
and an unprivileged port.

The keys are those of one run and come in a Secret: `key` logs in to every pod of it, `host_key` is
the host key of all of them, and the public halves are beside them (.pub). A login runs one fixed
command.
"""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from trainer.frozen import frozen
from trainer.node import processes

PORT = 2222
KEYS = ("key", "key.pub", "host_key", "host_key.pub")
_PRIVATE_FOLDER = re.compile(r"Missing privilege separation directory: (\S+)")


class SshdUnavailable(Exception):
    """sshd cannot run here; the message says why, and what to do."""


@frozen
class Sshd:
    """`folder` is private to this pod; `run` is the name that the host key is known by."""

    folder: Path
    run: str

    def copy_keys(self, keys: Path) -> None:
        """Copies with mode 0600, as ssh requires: a Secret's files may be readable by a group."""
        for name in KEYS:
            write(self.folder / name, (keys / name).read_text())
        known_hosts = f"{self.run} {(keys / 'host_key.pub').read_text()}"
        write(self.folder / "known_hosts", known_hosts)

    def start(self, address: str, command: list[str]) -> subprocess.Popen[bytes]:
        """`command` is the only one that a login runs."""
        program, settings = _program("sshd"), self.folder / "sshd_config"
        write(settings, _settings(self.folder, address, command))
        tried = subprocess.run(
            [program, "-t", "-f", str(settings)], check=False, capture_output=True, text=True
        )
        needed = _PRIVATE_FOLDER.search(tried.stderr)
        if needed and os.geteuid() == 0:
            Path(needed[1]).mkdir(parents=True, exist_ok=True, mode=0o755)
        elif tried.returncode:
            raise SshdUnavailable(f"sshd does not accept its settings: {tried.stderr.strip()}")
        return subprocess.Popen(
            [program, "-D", "-e", "-f", str(settings)],
            stdin=subprocess.DEVNULL,
            preexec_fn=processes.end_with_parent,
        )

    def command(self, host: str, request: str) -> list[str]:
        """The ssh command line for a request to another pod."""
        if not (self.folder / "ssh_config").exists():
            write(self.folder / "ssh_config", _client_settings(self.folder, self.run))
        return [_program("ssh"), "-F", str(self.folder / "ssh_config"), host, request]


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
        "LogLevel FATAL",  # it logs a port probe as an error
        # The folder is private; sshd would reject it for /tmp above it, which is world-writable.
        "StrictModes no",
        f"ForceCommand exec {shlex.join(command)}",
    ]
    return "\n".join([*lines, ""])


def _client_settings(folder: Path, run: str) -> str:
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
    program = shutil.which(
        name,
        path=os.pathsep.join(
            [os.environ.get("PATH", ""), "/usr/bin", "/usr/sbin", "/usr/local/sbin"]
        ),
    )
    if not program:
        raise SshdUnavailable(
            f"{name} is not in this image: install openssh-server and openssh-client in it, or"
            " launch with --launcher job, which needs neither"
        )
    return os.path.abspath(program)  # sshd re-executes itself for each connection


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise SshdUnavailable(
            f"user {os.geteuid()} has no name in the image's /etc/passwd, and sshd lets in named"
            " users only"
        ) from None
