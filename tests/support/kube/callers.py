"""Callers of a cluster's API with a token or certificate of choice."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from botocore.session import Session

from playrunner.aws.eks_token import token as eks_token
from playrunner.sandbox.aws.api import process as aws_process
from playrunner.sandbox.gcp import process as gcp_process
from playrunner.sandbox.kube.process import process
from tests.support.aws.sandbox import PretendAws
from tests.support.kube.client import Client

NODES = "/api/v1/nodes"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A sandbox with both clouds, an EKS cluster called demo, and an API."""
    pytest.importorskip(
        "moto", reason="the pretend AWS needs moto: pip install playrunner[sandbox]"
    )
    root = tmp_path_factory.mktemp("whole") / "sandbox"
    try:
        cloud = PretendAws(root)
        cloud.delays(**{"*": 0.0})
        cloud.cluster(cloud.network()[1])
        gcp_process.up(root)
        process.up(root, pretend=True)
        yield root
    finally:
        process.down(root)
        gcp_process.down(root)
        aws_process.down(root)


@pytest.fixture
def api(root: Path) -> Client:
    return Client(process.kubeconfig_file(root))


def made(
    root: Path, cluster: str = "demo", key: str = "", secret: str = "", session: str | None = None
) -> str:
    """A token of EKS, as `playrunner.aws.eks_token` makes it; by default with the sandbox's
    keys."""
    aws = aws_process.status(root)
    assert aws is not None
    signer = Session()
    signer.set_credentials(key or aws.access_key_id, secret or aws.secret_access_key, session)
    return eks_token(signer, cluster, "us-west-2")


def code(api: Client, token: str, path: str = NODES) -> int:
    return api.call("GET", path, token=token).code


def kubectl(root: Path, folder: Path, user: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """`kubectl get namespaces` as this user."""
    if shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl")
    config = yaml.safe_load(process.kubeconfig_file(root).read_text())
    config["users"][0]["user"] = user
    (folder / "config").write_text(yaml.safe_dump(config))
    return subprocess.run(
        ["kubectl", "--kubeconfig", str(folder / "config"), "get", "namespaces", "-o", "name"],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def shakes_hands(address: tuple[str, int], folder: Path | None) -> bool:
    """Whether a TLS server answers a client with this folder's certificate; without one, to a
    client that has none."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if folder:
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
    try:
        with socket.create_connection(address, 10) as plain, context.wrap_socket(plain) as secured:
            secured.sendall(b"POST /healthz HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
            return bool(secured.recv(1))
    except OSError:
        return False
