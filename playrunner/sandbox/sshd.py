"""The sshd program: where it is, the settings and keys it gets, starting it, and telling ours from
a stranger's."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from playrunner.sandbox import state
from playrunner.sandbox.state import SandboxError

START_SECONDS = 10.0  # an sshd listens after 0.1 s; on a machine that swaps it may take longer
PRIVATE_FOLDER = re.compile(r"Missing privilege separation directory: (\S+)")


@dataclass(frozen=True)
class Daemon:
    """One sshd: the folder with its settings, host key, log and pid file."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def host_key(self) -> Path:
        return self.folder / "host_key"

    @property
    def public_host_key(self) -> str:
        """The key's kind and the key, as known_hosts spells them."""
        return " ".join(self.host_key.with_suffix(".pub").read_text().split()[:2])

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def pid_file(self) -> Path:
        return self.folder / "pid"

    def pid(self) -> int | None:
        """The running process, when the pid file tells the truth: after a crash or a reboot it may
        name a stranger."""
        try:
            pid = int(self.pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return None
        return pid if self.is_run_by(state.command_of(pid)) else None

    def is_run_by(self, command: str) -> bool:
        return "sshd" in command and f" -f {self.config} " in f"{command} "


def listeners(daemons: list[Daemon]) -> set[int]:
    """The processes that listen for these daemons, also where a pid file is lost or wrong."""
    commands = {
        pid: command for pid, command in state.commands().items() if command.endswith("startups")
    }
    unlisted = {
        pid
        for pid, command in commands.items()
        if any(daemon.is_run_by(command) for daemon in daemons)
    }
    return unlisted | {pid for daemon in daemons if (pid := daemon.pid())}


def find() -> str:
    """The sshd program of this machine."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    program = shutil.which("sshd", path=path)
    if not program or not shutil.which("ssh-keygen"):
        raise SandboxError(
            "sshd or ssh-keygen is not installed; install both with: sudo apt-get install"
            " openssh-server (Fedora, Amazon Linux: sudo dnf install openssh-server)"
        )
    return os.path.abspath(
        program
    )  # sshd starts itself again for each connection and needs its own path


def login_name() -> str:
    """The one user who may log in: the one who runs this."""
    return pwd.getpwuid(os.geteuid()).pw_name


def make_keys(paths: Iterable[Path]) -> None:
    """Generate those key pairs that are not there yet."""
    missing = [path for path in paths if not (path.exists() and path.with_suffix(".pub").exists())]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(_make_key, missing))


def write_settings(
    daemon: Daemon, address: str, port: int, environment: Mapping[str, str], common: str
) -> None:
    """Write the daemon's settings and clear what its last life left behind; sessions get this
    environment."""
    daemon.pid_file.unlink(missing_ok=True)
    state.write_file(daemon.log, "")
    own = [
        f"ListenAddress {address}:{port}",
        f'HostKey "{daemon.host_key}"',
        f'PidFile "{daemon.pid_file}"',
        "SetEnv " + " ".join(f'"{name}={value}"' for name, value in environment.items()),
    ]
    state.write_file(daemon.config, "\n".join([*own, common, ""]))


def common_settings(program: str, client_key: Path) -> str:
    """The settings that all daemons share: this user, with this key, and no other."""
    lines = [
        f'AuthorizedKeysFile "{client_key}"',
        f"AllowUsers {login_name()}",
        f"StrictModes {'yes' if _strictly_owned(client_key) else 'no'}",
        "PermitRootLogin prohibit-password",
        "PubkeyAuthentication yes",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        "UseDNS no",
        "PrintMotd no",
        "PrintLastLog no",
        "MaxStartups 200",
        "MaxSessions 64",
        "AcceptEnv LANG LC_*",
        "Subsystem sftp internal-sftp",
    ]
    if _version(program) >= (9, 8):
        lines.append(
            "PerSourcePenalties no"
        )  # a rehearsed wrong key must not lock the rehearsal out
    return "\n".join(lines)


def start(program: str, daemons: list[Daemon]) -> bool:
    """Start these and wait until they listen; False when another process has taken a port
    meanwhile."""
    _try_settings(program, daemons[0].config)
    commands = [[program, "-f", str(daemon.config), "-E", str(daemon.log)] for daemon in daemons]
    starting = [
        subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL) for command in commands
    ]
    for daemon, process in zip(daemons, starting, strict=True):
        if process.wait():  # sshd goes to the background by itself
            raise SandboxError(f"sshd did not start: {daemon.log.read_text().strip()[-300:]}")
    return all(_listens(daemon) for daemon in daemons)


def _listens(daemon: Daemon) -> bool:
    # sshd writes its pid once it listens, and says in the log why it never will.
    state.await_that(lambda: daemon.pid() is not None or _is_refused(daemon), START_SECONDS)
    if daemon.pid() is None and not _is_refused(daemon):
        raise SandboxError(f"sshd did not start within {START_SECONDS:g} s; see {daemon.log}")
    return daemon.pid() is not None


def _is_refused(daemon: Daemon) -> bool:
    return "Cannot bind" in daemon.log.read_text()


def _try_settings(program: str, config: Path) -> None:
    """Have sshd read its settings once, and give it the empty folder that root's sshd insists
    on."""
    tried = subprocess.run(
        [program, "-t", "-f", str(config)], check=False, capture_output=True, text=True
    )
    needed = PRIVATE_FOLDER.search(tried.stderr)
    if needed and os.geteuid() == 0:
        # It stays after `down`: by then, another sshd of this machine may count on it.
        Path(needed[1]).mkdir(parents=True, exist_ok=True, mode=0o755)
    elif tried.returncode:
        raise SandboxError(f"sshd does not accept {config}: {tried.stderr.strip()}")


def _make_key(path: Path) -> None:
    path.unlink(missing_ok=True)
    kind = ["-t", "ed25519", "-N", "", "-C", "playrunner-sandbox"]
    subprocess.run(["ssh-keygen", "-q", *kind, "-f", str(path)], check=True)


def _strictly_owned(file: Path) -> bool:
    """Whether sshd's own check of key files would pass: no folder on the way is another's, or open
    to others."""
    facts = [folder.stat() for folder in file.parents]
    return all(fact.st_uid in (0, os.geteuid()) and not fact.st_mode & 0o022 for fact in facts)


def _version(program: str) -> tuple[int, int]:
    said = subprocess.run([program, "-V"], check=False, capture_output=True, text=True)
    found = re.search(r"OpenSSH_(\d+)\.(\d+)", said.stdout + said.stderr)
    return (int(found[1]), int(found[2])) if found else (0, 0)
