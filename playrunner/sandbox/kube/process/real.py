"""A real kube-apiserver and its etcd on loopback, where their programs are found; nothing else of a
cluster."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from playrunner.sandbox import state
from playrunner.sandbox.state import SandboxError

START_SECONDS = 90.0
# Turned off: it would wait for a controller that makes service accounts and their secrets.
_PLUGINS_OFF = "ServiceAccount"
_ADMISSION_VERSION = "apiserver.config.k8s.io/v1"
_EGRESS_VERSION = "apiserver.k8s.io/v1beta1"  # since 1.20, and still served


@dataclass(frozen=True)
class Assets:
    """The programs."""

    etcd: str
    apiserver: str


def assets() -> Assets | None:
    """From the folder in KUBEBUILDER_ASSETS, else from PATH; None when one of them is missing."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    path = folder if folder and Path(folder, "kube-apiserver").exists() else None
    etcd, apiserver = (
        shutil.which(name, path=path) or shutil.which(name) for name in ("etcd", "kube-apiserver")
    )
    return Assets(etcd, apiserver) if etcd and apiserver else None


def is_ours(command: str) -> bool:
    program = Path(command.split(" ", 1)[0]).name
    return program in ("etcd", "kube-apiserver")


def start(assets: Assets, place: Path, port: int, *, moving: bool = False) -> tuple[int, str]:
    """Start both; the process and port of the API server, which may not answer yet. `moving`:
    controllers stand beside it."""
    etcd_port, peer_port = _free_port(), _free_port()
    port = port or _free_port()
    token = (place / "token").read_text().strip()
    state.write_file(
        place / "tokens.csv", f'{token},sandbox-admin,sandbox-admin,"system:masters"\n'
    )
    etcd, peer = f"https://127.0.0.1:{etcd_port}", f"https://127.0.0.1:{peer_port}"
    _run(
        place,
        [
            assets.etcd,
            f"--data-dir={place}/etcd",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            *_shown_certificates(place),
            *_shown_certificates(place, "peer-"),
            "--unsafe-no-fsync",
        ],
    )
    if not state.await_that(lambda: _listens(etcd_port), START_SECONDS):
        raise SandboxError(f"etcd does not listen; see {place / 'log'}")
    process = _run(
        place,
        [
            assets.apiserver,
            f"--etcd-servers={etcd}",
            f"--etcd-cafile={place}/ca.crt",
            f"--etcd-certfile={place}/server.crt",
            f"--etcd-keyfile={place}/server.key",
            f"--admission-control-config-file={_known_to_webhooks(place)}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={place}/server.crt",
            f"--tls-private-key-file={place}/server.key",
            f"--client-ca-file={place}/ca.crt",
            f"--token-auth-file={place}/tokens.csv",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--service-account-key-file={place}/accounts.key",
            f"--service-account-signing-key-file={place}/accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--disable-admission-plugins={_PLUGINS_OFF}",
            "--allow-privileged=true",
            f"--cert-dir={place}",
            f"--kubelet-certificate-authority={place}/ca.crt",
            f"--kubelet-client-certificate={place}/server.crt",
            f"--kubelet-client-key={place}/server.key",
            *(_through_controllers(place) if moving else []),
        ],
    )
    return process.pid, str(port)


def _shown_certificates(place: Path, prefix: str = "") -> list[str]:
    """Have etcd answer only clients with a certificate of ours: write access there owns
    the cluster."""
    return [
        f"--{prefix}cert-file={place}/server.crt",
        f"--{prefix}key-file={place}/server.key",
        f"--{prefix}trusted-ca-file={place}/ca.crt",
        f"--{prefix}client-cert-auth",
    ]


def _known_to_webhooks(place: Path) -> Path:
    """Have it show its certificate to webhooks: the sandbox's own webhooks require it."""
    user = {"client-certificate": f"{place}/server.crt", "client-key": f"{place}/server.key"}
    shown = {"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]}
    state.write_file(place / "webhook-users.json", json.dumps(shown) + "\n")
    inner = {
        "apiVersion": _ADMISSION_VERSION,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": f"{place}/webhook-users.json",
    }
    plugins = [
        {"name": name, "configuration": inner}
        for name in ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    ]
    config = {
        "apiVersion": _ADMISSION_VERSION,
        "kind": "AdmissionConfiguration",
        "plugins": plugins,
    }
    state.write_file(place / "admission.json", json.dumps(config) + "\n")
    return place / "admission.json"


def _through_controllers(place: Path) -> list[str]:
    """Have it reach webhooks and nodes through the controllers' proxy, which knows where services
    are."""
    port = _controllers_port(place / "egress-port")
    trust = {
        "caBundle": f"{place}/ca.crt",
        "clientCert": f"{place}/server.crt",
        "clientKey": f"{place}/server.key",
    }
    proxy = {
        "proxyProtocol": "HTTPConnect",
        "transport": {"tcp": {"url": f"https://127.0.0.1:{port}", "tlsConfig": trust}},
    }
    selection = {"name": "cluster", "connection": proxy}
    config = {
        "apiVersion": _EGRESS_VERSION,
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [selection],
    }
    state.write_file(place / "egress.json", json.dumps(config) + "\n")
    return [f"--egress-selector-config-file={place}/egress.json", *_asking_about_tokens(place)]


def _asking_about_tokens(place: Path) -> list[str]:
    """Have it ask the controllers about tokens that it does not know: those of the pretend
    clouds."""
    port = _controllers_port(place / "token-review-port")
    authority, shown = f"{place}/ca.crt", f"{place}/server.crt"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "reviews",
        "contexts": [{"name": "reviews", "context": {"cluster": "reviews", "user": "apiserver"}}],
        "clusters": [
            {
                "name": "reviews",
                "cluster": {
                    "server": f"https://127.0.0.1:{port}",
                    "certificate-authority": authority,
                },
            }
        ],
        "users": [
            {
                "name": "apiserver",
                "user": {"client-certificate": shown, "client-key": f"{place}/server.key"},
            }
        ],
    }
    state.write_file(place / "token-reviews.json", json.dumps(config) + "\n")
    return [
        f"--authentication-token-webhook-config-file={place}/token-reviews.json",
        "--authentication-token-webhook-version=v1",
    ]


def _controllers_port(known: Path) -> int:
    """The port that the controllers listen on already, or the one that they will; they read it from
    this file."""
    if known.exists() and _listens(int(known.read_text())):
        return int(known.read_text())
    port = _free_port()
    state.write_file(known, f"{port}\n")
    return port


def _run(place: Path, command: list[str]) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "ETCD_UNSUPPORTED_ARCH": "arm64",
    }  # older ones refuse to start there without it
    with open(place / "log", "ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
            cwd=place,
        )


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
