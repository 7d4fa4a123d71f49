"""The Kubernetes API as a background process: start it, look at it, end it. A real one where its
programs are, else ours."""

from __future__ import annotations

import json
import os
import secrets
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from playrunner.sandbox import state
from playrunner.sandbox.http import control_secret
from playrunner.sandbox.kube.controllers.framework import process as controllers
from playrunner.sandbox.kube.process import real
from playrunner.sandbox.kube.wire import kubeconfig
from playrunner.sandbox.state import SandboxError

START_SECONDS = 60.0
MODULE = "playrunner.sandbox.kube.http.server"
ADMINISTRATORS = "system:masters"


@dataclass(frozen=True)
class Kube:
    """Where the API listens, and what a client needs to talk to it."""

    server: str
    kubeconfig: str
    flavour: str  # pretend, or real: a kube-apiserver with its etcd
    pid: int | None = None
    alive: bool = False
    moving: bool = False  # its controllers run: nodes are there, and pods run on them

    def summary(self) -> dict[str, object]:
        return asdict(self)


def up(root: Path, *, pretend: bool = False, moving: bool = False) -> Kube:
    """Start it unless it is healthy already; returns when it answers.

    `pretend`: ours even where a real one is installed. `moving`: also its controllers, and nodes
    that run pods.
    """
    with state.locked(root):
        kube = status(root)
        if kube is None or not kube.alive:
            state.end(_processes(root))
            folder(root).mkdir(mode=0o700, exist_ok=True)
            kube = _started(root, kube, None if pretend else real.assets(), moving)
        if moving:
            controllers.up(kubeconfig_file(root), folder(root))
        return status(root) or kube


def status(root: Path) -> Kube | None:
    """What was brought up in this folder, alive or not."""
    try:
        record = json.loads(record_file(root).read_text())
    except FileNotFoundError:
        return None
    pids = _processes(root)
    kube = Kube(**record)
    alive = bool(pids) and _answers(kube.server, folder(root) / "ca.crt")
    return Kube(
        **record,
        pid=min(pids, default=None),
        alive=alive,
        moving=bool(controllers.processes(folder(root))),
    )


def down(root: Path) -> None:
    """End it and forget everything in it; nothing to do when it is not up."""
    if not root.is_dir():
        return
    with state.locked(root):
        controllers.down(folder(root))
        state.end(_processes(root))
        state.remove_tree(folder(root))
        record_file(root).unlink(missing_ok=True)
        kubeconfig_file(root).unlink(missing_ok=True)


def record_file(root: Path) -> Path:
    """Where its address is kept, for inventories to read."""
    return root / "kube.json"


def kubeconfig_file(root: Path) -> Path:
    return root / "kubeconfig.yaml"


def folder(root: Path) -> Path:
    """Its certificates, token, log and port."""
    return root / "kube"


def _started(root: Path, known: Kube | None, assets: real.Assets | None, moving: bool) -> Kube:
    place = folder(root)
    if not (place / "token").exists():
        from playrunner.sandbox.kube.wire import certificates  # slow to load, and only needed once

        authority = certificates.authority(place)
        authority.issue("server")
        authority.issue("admin", groups=(ADMINISTRATORS,))
        certificates.signing_key(place / "accounts.key")
        token = secrets.token_urlsafe(32)
        control_secret.write(place, token)
        state.write_file(place / "token", f"{token}\n")
    port = (
        known.server.rpartition(":")[2] if known else "0"
    )  # the same as before, for those who noted it down
    if assets is None:
        pid, port = _start_pretend(place, port)
    else:
        pid, port = real.start(assets, place, int(port), moving=moving)
    server = f"https://127.0.0.1:{port}"
    if not state.await_that(lambda: _answers(server, place / "ca.crt"), START_SECONDS):
        raise SandboxError(f"the Kubernetes API does not answer at {server}; see {place / 'log'}")
    kubeconfig.write(
        kubeconfig_file(root), server, place / "ca.crt", (place / "token").read_text().strip()
    )
    kube = Kube(server, str(kubeconfig_file(root)), "real" if assets else "pretend")
    record = {
        name: value
        for name, value in asdict(kube).items()
        if name not in ("pid", "alive", "moving")
    }
    state.write_file(record_file(root), json.dumps(record, indent=2) + "\n")
    return Kube(**record, pid=pid, alive=True)


def _start_pretend(place: Path, port: str) -> tuple[int, str]:
    port_file = place / "port"
    port_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", MODULE, "--port", port, "--folder", str(place)]
    parent = str(Path(__file__).parents[4])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [parent, os.environ.get("PYTHONPATH")])),
    }
    with open(place / "log", "ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
            cwd=place,
        )
    state.await_that(lambda: port_file.exists() or process.poll() is not None, START_SECONDS)
    if not port_file.exists():
        raise SandboxError(f"the pretend Kubernetes API did not start; see {place / 'log'}")
    return process.pid, port_file.read_text().strip()


def _processes(root: Path) -> set[int]:
    """Only our own: servers that keep their files in this folder."""
    place = str(folder(root))
    return {
        pid
        for pid, command in state.commands().items()
        if (f"-m {MODULE} " in command and command.endswith(place))
        or (real.is_ours(command) and f"{place}/" in command)
    }


def _answers(server: str, authority: Path) -> bool:
    with suppress(OSError, urllib.error.URLError):
        context = ssl.create_default_context(cafile=str(authority))
        # Loopback must be reached directly, whatever proxy the environment names.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        with opener.open(f"{server}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    return False
