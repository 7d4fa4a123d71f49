"""Another user of this machine reads none of a sandbox's secrets and is answered by none of its
servers."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.sandbox import node_inventory, nodes, registry, state
from playrunner.sandbox.aws.api import process as aws_process
from playrunner.sandbox.gcp import process as gcp_process
from playrunner.sandbox.kube.process import process as kube_process
from playrunner.sandbox.state import SandboxError

# Said by the other user: every file that can be read, and every port that answers something other
# than a refusal.
VISITOR = r"""
import json, os, socket, ssl, sys
root, ports = sys.argv[1], json.loads(sys.stdin.read())
read = []
for folder, _, files in os.walk(root):
    read.append(folder)
    read += [file for file in files if os.access(os.path.join(folder, file), os.R_OK)]
paths = ["/", "/api/v1/nodes", "/apis", "/_sandbox/health", "/_sandbox/faults", "/nodes", "/pods",
         "/faults", "/v2/_catalog", "/clusters", "/moto-api/data.json", "/v2/keys", "/metrics",
         "/v1/projects/sandbox-project/locations/-/clusters", "/exec/a/b/c", "/containerLogs/a/b/c",
         "/compute/v1/projects/sandbox-project/aggregated/disks"]
answered, refused = [], []
for address, port in ports:
    for tls in (False, True):
        for method in ("GET", "POST"):
            for path in paths:
                try:
                    link = socket.create_connection((address, port), 5)
                    if tls:
                        trust = ssl.create_default_context()
                        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
                        link = trust.wrap_socket(link)
                    with link:
                        start = f"{method} {path} HTTP/1.1\r\nHost: {address}\r\n"
                        start += "Content-Length: 2\r\n"
                        headers = "Authorization: Bearer x\r\nConnection: close"
                        link.sendall(f"{start}{headers}\r\n\r\n{{}}".encode())
                        line = link.recv(4096).split(b"\r\n")[0].decode(errors="replace")
                except OSError:
                    continue
                status = line.split()[1] if line.startswith("HTTP/") else line
                is_refusal = status in ("400", "401", "403", "") or line.startswith("SSH-")
                (refused if is_refusal else answered).append([address, port, method, path, line])
seen = {"read": read, "answered": answered, "refused": len(refused), "user": os.getuid()}
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    """A whole sandbox, in a place that everybody may enter."""
    if os.geteuid() or shutil.which("setpriv") is None:
        pytest.skip("only root can become another user, with setpriv")
    pytest.importorskip(
        "moto", reason="the pretend AWS needs moto: pip install playrunner[sandbox]"
    )
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    root = place / "sandbox"
    try:
        nodes.up(root, 1)
        aws_process.up(root)
        gcp_process.up(root)
        kube_process.up(root, pretend=True, moving=True)
        if registry.installed():
            registry.up(root)
        yield root
    finally:
        registry.down(root)
        kube_process.down(root)
        gcp_process.down(root)
        aws_process.down(root)
        nodes.down(root)
        shutil.rmtree(place)


def listening(root: Path) -> list[tuple[str, int]]:
    """Where the processes of this sandbox listen, by what the kernel says."""
    ours = {pid for pid, command in state.commands().items() if str(root) in command}
    lines = subprocess.run(
        ["ss", "-Hltnp"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = []
    for line in lines:
        if any(f"pid={pid}," in line for pid in ours):
            address, _, port = line.split()[3].rpartition(":")
            found.append((address, int(port)))
    return sorted(found)


def as_other_user(command: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    return subprocess.run(
        [*other, *command], input=text, capture_output=True, text=True, timeout=300, cwd="/"
    )


def visit(root: Path, ports: list[tuple[str, int]]) -> dict[str, Any]:
    ran = as_other_user(["/usr/bin/env", "python3", "-c", VISITOR, str(root)], json.dumps(ports))
    if ran.returncode and "ermission denied" in ran.stderr:
        ran = as_other_user([sys.executable, "-c", VISITOR, str(root)], json.dumps(ports))
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


def of_registry(root: Path, answered: list[Any]) -> bool:
    """docker-registry says that it is there, with nothing in it, and knows no such page."""
    known = registry.status(root)
    address, port, _, path, line = answered
    ours = known is not None and known.address == f"{address}:{port}"
    return ours and path != "/v2/_catalog" and line.split()[1] == ("200" if path == "/" else "404")


@pytest.mark.skipif(shutil.which("ss") is None, reason="there is no ss")
def test_every_server_listens_on_loopback_and_refuses_another_user(root: Path) -> None:
    ports = listening(root)
    assert len(ports) >= 6, (
        "a node, two clouds, the API, its kubelet and the controllers' control server, at least"
    )
    assert all(address.startswith("127.") for address, _ in ports), ports
    found = visit(root, ports)
    answered = [one for one in found["answered"] if not of_registry(root, one)]
    assert found["user"] == 65534 and answered == [], answered
    assert found["refused"] >= 32 * 4, "they must have been asked, and have refused"


def test_another_user_reads_no_file_of_the_sandbox(root: Path) -> None:
    assert visit(root, [])["read"] == []
    for folder, names, files in os.walk(root):
        assert stat.S_IMODE(root.stat().st_mode) == 0o700
        for name in [*names, *files]:
            path = Path(folder, name)
            if name in SECRETS:
                assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


SECRETS = {
    "aws.json",
    "aws-credentials",
    "keys.json",
    "control-header",
    "gcp-account.json",
    "secret",
    "token",
    "account.key",
    "kubeconfig.yaml",
    "server.key",
    "admin.key",
    "accounts.key",
    "client_key",
    "host_key",
    "htpasswd",
    "config.json",
}


def test_every_secret_is_where_it_is_looked_for(root: Path) -> None:
    there = {name for _, _, files in os.walk(root) for name in files}
    assert not SECRETS - there - (set() if registry.installed() else {"htpasswd", "config.json"})


def test_a_node_is_opened_by_its_own_sandboxs_key_alone(root: Path, tmp_path: Path) -> None:
    (node,) = nodes.status(root)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    quiet = [
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        "UserKnownHostsFile=/dev/null",
        "-o",
        "IdentitiesOnly=yes",
    ]
    for file, expected in ((node_inventory.key_file(root), 0), (key, 255)):
        command = [
            "ssh",
            "-F",
            "none",
            *quiet,
            "-i",
            str(file),
            "-p",
            str(node.port),
            f"root@{node.address}",
            "true",
        ]
        assert subprocess.run(command, capture_output=True, timeout=60).returncode == expected


def test_two_sandboxes_share_no_key(root: Path, tmp_path: Path) -> None:
    try:
        nodes.up(tmp_path / "sandbox", 1)
        assert (
            node_inventory.key_file(root).read_bytes()
            != node_inventory.key_file(tmp_path / "sandbox").read_bytes()
        )
    finally:
        nodes.down(tmp_path / "sandbox")


def test_a_folder_that_another_user_made_is_not_used(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder to another user")
    (tmp_path / "sandbox").mkdir()
    os.chown(tmp_path / "sandbox", 65534, 65534)
    with (
        pytest.raises(SandboxError, match="belongs to another user"),
        state.locked(tmp_path / "sandbox"),
    ):
        pass
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with (
        pytest.raises(SandboxError, match="writable by other users"),
        state.locked(tmp_path / "open" / "sandbox"),
    ):
        pass
