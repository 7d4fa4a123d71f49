"""Fixtures with real SSH nodes: `nodes` is shared by all tests, `make_nodes` gives a test nodes of
its own to break."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from playrunner.sandbox import node_inventory, sshd
from playrunner.sandbox import nodes as sandbox_nodes
from playrunner.sandbox.state import SandboxError

SHARED_COUNT = 2


@dataclass(frozen=True)
class SshNode:
    """One node, and all that a client needs to log in."""

    name: str
    address: str
    port: int
    user: str
    key_file: Path
    known_hosts_file: Path
    scratch: Path

    def ssh(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command there with the plain OpenSSH client."""
        options = [
            "-o",
            f"UserKnownHostsFile={self.known_hosts_file}",
            "-o",
            "StrictHostKeyChecking=yes",
            "-o",
            "BatchMode=yes",
        ]
        login = [
            "-F",
            "none",
            "-i",
            str(self.key_file),
            "-p",
            str(self.port),
            f"{self.user}@{self.address}",
        ]
        return subprocess.run(
            ["ssh", *options, *login, command],
            check=False,
            capture_output=True,
            text=True,
            timeout=30,
        )


class NodeSet:
    """Nodes of one private sandbox: `nodes[0]`, `nodes["node2"]`, `for node in nodes`."""

    def __init__(self, root: Path, count: int) -> None:
        self.root = root
        self.count = count
        self.start()

    def __iter__(self) -> Iterator[SshNode]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, which: int | str) -> SshNode:
        if isinstance(which, int):
            return self._nodes[which]
        return next(node for node in self._nodes if node.name == which)

    def start(self) -> None:
        """Bring up what is not up; also after `kill`."""
        key, known_hosts = (
            node_inventory.key_file(self.root),
            node_inventory.known_hosts_file(self.root),
        )
        self._nodes = tuple(
            SshNode(
                node.name,
                node.address,
                node.port,
                sshd.login_name(),
                key,
                known_hosts,
                node.scratch,
            )
            for node in sandbox_nodes.up(self.root, self.count)
        )

    def kill(self, *names: str) -> None:
        """Cut these nodes' power: nothing listens there any more, and all sessions are gone."""
        doomed = [node for node in sandbox_nodes.status(self.root) if node.name in names]
        sandbox_nodes.stop(self.root, doomed)

    def clean(self) -> None:
        """Empty every scratch folder."""
        for node in self:
            shutil.rmtree(node.scratch)
            node.scratch.mkdir(mode=0o700)

    def inventory(
        self, folder: Path, hosts: Iterable[str] | None = None, **variables: object
    ) -> Path:
        """Write an inventory of these nodes (all, or those named) into the folder; the group is
        `nodes`."""
        names = set(hosts) if hosts is not None else {node.name for node in self}
        chosen = [
            node_inventory.Node(node.name, node.address, node.port, node.scratch)
            for node in self
            if node.name in names
        ]
        path = folder / "inventory.yaml"
        path.write_text(node_inventory.inventory_text(self.root, chosen, variables))
        return path

    def remove(self) -> None:
        sandbox_nodes.down(self.root)


@pytest.fixture(scope="session")
def sshd_program() -> str:
    try:
        return sshd.find()
    except SandboxError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def nodes(sshd_program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeSet]:
    """Two nodes for every test that leaves them as they are; a test writes below a folder of its
    own in `scratch`."""
    root = tmp_path_factory.mktemp("nodes") / "sandbox"
    try:
        yield NodeSet(root, SHARED_COUNT)
    finally:
        sandbox_nodes.down(root)


@pytest.fixture
def make_nodes(sshd_program: str, tmp_path: Path) -> Iterator[Callable[[int], NodeSet]]:
    """`make_nodes(count)`: nodes of the test's own, to kill and to misconfigure."""
    roots: list[Path] = []

    def make(count: int) -> NodeSet:
        roots.append(tmp_path / f"sandbox-{len(roots) + 1}")
        return NodeSet(roots[-1], count)

    try:
        yield make
    finally:
        for root in roots:
            sandbox_nodes.down(root)
