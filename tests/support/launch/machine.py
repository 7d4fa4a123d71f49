"""One machine in namespaces of its own, and the networks that it is on."""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from playrunner.sandbox import sshd
from playrunner.sandbox.state import SandboxError
from tests.support.until import until

START_SECONDS = 20.0
# The first process waits for its network cards, then becomes sshd; with it everything in the
# machine ends.
_BOOT = """set -e
echo "$1" > /proc/sys/kernel/hostname
mount -t tmpfs tmpfs /run && mkdir -p /run/sshd
mount --bind "$3" /etc/hosts
echo up; read -r wired
ip link set lo up
for pair in $4; do ip addr add "${pair#*=}/24" dev "${pair%=*}"; ip link set "${pair%=*}" up; done
exec "$5" -D -f "$2/config" -E "$2/log"
"""


@dataclass(frozen=True)
class Lane:
    """One network: machines on it reach each other, and this machine if it has an address there."""

    bridge: str
    prefix: str

    def address(self, number: int) -> str:
        return f"{self.prefix}.{number}"


@dataclass
class Machine:
    name: str
    number: int
    lanes: tuple[Lane, ...]
    daemon: sshd.Daemon
    links: tuple[str, ...]  # this machine's ends of its cables, one for each lane
    launcher: subprocess.Popen[str] | None = field(default=None, repr=False)
    init: int = 0

    @property
    def address(self) -> str:
        return self.lanes[0].address(self.number)

    @property
    def root(self) -> Path:
        """Its files as it sees them, its own mounts included."""
        return Path(f"/proc/{self.init}/root")

    def answers(self) -> bool:
        """Whether this machine finds it: one that is back is known as gone for a moment."""
        try:
            with socket.create_connection((self.address, 22), timeout=1) as found:
                return bool(found.recv(4))
        except OSError:
            return False

    def boot(self, *words: object) -> None:
        """Start its first process, which then waits for its network cards."""
        spaces = [
            "--pid",
            "--fork",
            "--kill-child",
            "--mount",
            "--mount-proc",
            "--net",
            "--uts",
            "--ipc",
        ]
        alone = ["setpriv", "--pdeathsig", "KILL", "unshare", *spaces]
        self.launcher = subprocess.Popen(
            [*alone, "sh", "-c", _BOOT, "boot", *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.launcher.stdin and self.launcher.stdout
        answer = self.launcher.stdout.readline()
        if answer.strip() != "up":
            rest = self.launcher.stdout.read()
            raise SandboxError(f"{self.name} does not start: {answer}{rest}")
        pid = self.launcher.pid
        self.init = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    def wired(self) -> None:
        """Its network cards are there: it continues to start."""
        assert self.launcher and self.launcher.stdin
        self.launcher.stdin.write("wired\n")
        self.launcher.stdin.flush()
        until(
            lambda: "Server listening" in self.daemon.log.read_text(), what=f"sshd on {self.name}"
        )

    def end(self) -> None:
        """At once, with everything that runs on it."""
        assert self.launcher and self.launcher.stdin and self.launcher.stdout
        os.kill(self.init, 9)
        self.launcher.wait(START_SECONDS)
        self.launcher.stdin.close()
        self.launcher.stdout.close()
        self.launcher = None

    def run(self, words: str, namespaces: str = "-n") -> None:
        """A program inside its namespaces: of the network, unless others are named."""
        run(["nsenter", "-t", str(self.init), *namespaces.split(), *words.split()])


def ip(*words: str) -> str:
    return run(["ip", *words])


def run(words: list[str]) -> str:
    ran = subprocess.run(words, check=False, capture_output=True, text=True)
    if ran.returncode:
        raise SandboxError(f"{' '.join(words)}: {ran.stderr.strip()}")
    return ran.stdout
