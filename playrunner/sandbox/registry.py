"""A container registry on a loopback port: the real `docker-registry`, with a login of its own, as
a background process."""

from __future__ import annotations

import base64
import json
import re
import secrets
import shutil
import subprocess
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from playrunner.sandbox import state
from playrunner.sandbox.state import SandboxError

PROGRAM = "docker-registry"
USER = "sandbox"
START_SECONDS = 60.0
LOCK = "registry-lock"
_LISTENS = re.compile(r"listening on (127\.0\.0\.1:\d+)")


@dataclass(frozen=True)
class Registry:
    """Where it listens, and the file of logins that docker, buildah and skopeo read."""

    address: str  # as 127.0.0.1:5000; the start of every image's name
    user: str
    auth_file: str
    pid: int | None = None
    alive: bool = False

    def summary(self) -> dict[str, object]:
        return asdict(self)


def installed() -> bool:
    return shutil.which(PROGRAM) is not None


def up(root: Path) -> Registry:
    """Bring it up, or keep it as it is when it is healthy; returns when it answers."""
    if not installed():
        raise SandboxError(
            f"the registry needs {PROGRAM}; on Debian, install it with: apt-get install {PROGRAM}"
        )
    with state.locked(root, LOCK):
        known = status(root)
        if known is not None and known.alive:
            return known
        state.end(_processes(root))
        return _started(root, known)


def status(root: Path) -> Registry | None:
    """What was brought up in this folder, alive or not."""
    try:
        record = json.loads(record_file(root).read_text())
    except FileNotFoundError:
        return None
    pids = _processes(root)
    return Registry(
        **record, pid=min(pids, default=None), alive=bool(pids) and _answers(record["address"])
    )


def down(root: Path) -> None:
    """End it and forget every image in it; nothing to do when it is not up."""
    if not root.is_dir():
        return
    with state.locked(root, LOCK):
        state.end(_processes(root))
        if _folder(root).is_dir():
            state.remove_tree(_folder(root))
        record_file(root).unlink(missing_ok=True)
        (root / LOCK).unlink()
        with suppress(OSError):  # something else keeps files there
            root.rmdir()


def record_file(root: Path) -> Path:
    """Where its address is kept, for inventories to read."""
    return root / "registry.json"


def _started(root: Path, known: Registry | None) -> Registry:
    folder = _folder(root)
    folder.mkdir(mode=0o700, exist_ok=True)
    listen_address = (
        known.address if known else "127.0.0.1:0"
    )  # the same as before, for those who noted it down
    password = secrets.token_urlsafe(24)
    state.write_file(folder / "htpasswd", _entry(password))
    state.write_file(folder / "config.yml", _config(folder, listen_address))
    (folder / "log").unlink(missing_ok=True)
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen(
            [PROGRAM, "serve", str(folder / "config.yml")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=folder,
        )
    state.await_that(
        lambda: _address(folder) is not None or process.poll() is not None, START_SECONDS
    )
    address = _address(folder)
    if address is None or not state.await_that(lambda: _answers(address), START_SECONDS):
        raise SandboxError(f"the registry did not start; see {folder / 'log'}")
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    auth_file = folder / "login" / "config.json"  # docker insists on the name
    auth_file.parent.mkdir(mode=0o700, exist_ok=True)
    state.write_file(auth_file, json.dumps({"auths": {address: {"auth": auth}}}, indent=2) + "\n")
    record = {"address": address, "user": USER, "auth_file": str(auth_file)}
    state.write_file(record_file(root), json.dumps(record, indent=2) + "\n")
    return Registry(**record, pid=process.pid, alive=True)


def _entry(password: str) -> str:
    import bcrypt  # paramiko brings it; the registry takes nothing weaker

    return f"{USER}:{bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds=5)).decode()}\n"


def _config(folder: Path, address: str) -> str:
    return (
        json.dumps(
            {  # JSON is valid YAML
                "version": 0.1,
                "log": {"level": "info", "accesslog": {"disabled": True}},
                "storage": {
                    "filesystem": {"rootdirectory": str(folder / "images")},
                    "delete": {"enabled": True},
                    "cache": {"blobdescriptor": "inmemory"},
                },
                "http": {"addr": address},
                "auth": {"htpasswd": {"realm": "sandbox", "path": str(folder / "htpasswd")}},
            },
            indent=2,
        )
        + "\n"
    )


def _address(folder: Path) -> str | None:
    """Where it says that it listens."""
    found = _LISTENS.search((folder / "log").read_text(errors="replace"))
    return found[1] if found else None


def _folder(root: Path) -> Path:
    return root / "registry"


def _processes(root: Path) -> set[int]:
    """Only our own: the server that reads the configuration in this folder."""
    mark = f"{PROGRAM} serve {_folder(root) / 'config.yml'}"
    return {pid for pid, command in state.commands().items() if command.endswith(mark)}


def _answers(address: str) -> bool:
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({})
    )  # directly, whatever proxy the environment names
    try:
        with opener.open(f"http://{address}/v2/", timeout=5):
            return True
    except urllib.error.HTTPError as refusal:
        return refusal.code == 401  # it wants a login, so it is there
    except (OSError, urllib.error.URLError):
        return False
