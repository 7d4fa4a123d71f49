"""A real kube-apiserver and its etcd on loopback, where their programs are found; nothing else of a cluster."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sandbox import state
from sandbox.state import SandboxError

START_SECONDS = 90.0
# Turned off: it would wait for a controller that makes service accounts and their secrets.
_PLUGINS_OFF = "ServiceAccount"


@dataclass(frozen=True)
class Assets:
    """The programs."""

    etcd: str
    apiserver: str


def assets() -> Assets | None:
    """From the folder in KUBEBUILDER_ASSETS, else from PATH; None when one of them is missing."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    path = folder if folder and Path(folder, "kube-apiserver").exists() else None
    etcd, apiserver = (shutil.which(name, path=path) or shutil.which(name) for name in ("etcd", "kube-apiserver"))
    return Assets(etcd, apiserver) if etcd and apiserver else None


def is_ours(command: str) -> bool:
    program = Path(command.split(" ", 1)[0]).name
    return program in ("etcd", "kube-apiserver")


def start(found: Assets, place: Path, port: int) -> tuple[int, str]:
    """Start both; the process and port of the API server, which may not answer yet."""
    etcd_port, peer_port = _free_port(), _free_port()
    port = port or _free_port()
    token = (place / "token").read_text().strip()
    state.write_file(place / "tokens.csv", f'{token},sandbox-admin,sandbox-admin,"system:masters"\n')
    etcd = f"http://127.0.0.1:{etcd_port}"
    _run(place, [
        found.etcd, f"--data-dir={place}/etcd", f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}",
        f"--listen-peer-urls=http://127.0.0.1:{peer_port}", "--unsafe-no-fsync",
    ])  # fmt: skip
    if not state.await_that(lambda: _listens(etcd_port), START_SECONDS):
        raise SandboxError(f"etcd does not listen; see {place / 'log'}")
    process = _run(place, [
        found.apiserver, f"--etcd-servers={etcd}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
        f"--secure-port={port}", f"--tls-cert-file={place}/server.crt", f"--tls-private-key-file={place}/server.key",
        f"--client-ca-file={place}/ca.crt", f"--token-auth-file={place}/tokens.csv", "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/16", f"--service-account-key-file={place}/accounts.key",
        f"--service-account-signing-key-file={place}/accounts.key", "--service-account-issuer=https://kubernetes.default.svc",
        f"--disable-admission-plugins={_PLUGINS_OFF}", "--allow-privileged=true", f"--cert-dir={place}",
        f"--kubelet-certificate-authority={place}/ca.crt", f"--kubelet-client-certificate={place}/server.crt",
        f"--kubelet-client-key={place}/server.key",
    ])  # fmt: skip
    return process.pid, str(port)


def _run(place: Path, command: list[str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "ETCD_UNSUPPORTED_ARCH": "arm64"}  # older ones refuse to start there without it
    with open(place / "log", "ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True, cwd=place
        )


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
