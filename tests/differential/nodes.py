"""The two hosts of the differential suite: sandbox nodes, which are real sshd processes on loopback
addresses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playrunner.sandbox import node_inventory, sshd
from playrunner.sandbox import nodes as sandbox_nodes

NAMES = ("node1", "node2")


@dataclass(frozen=True)
class Nodes:
    """How to reach the two hosts."""

    root: Path
    members: tuple[node_inventory.Node, ...]

    def connection_vars(self, name: str) -> dict[str, object]:
        node = next(member for member in self.members if member.name == name)
        return {
            "ansible_host": node.address,
            "ansible_port": node.port,
            "ansible_user": sshd.login_name(),
            "ansible_ssh_private_key_file": str(node_inventory.key_file(self.root)),
            "ansible_ssh_common_args": node_inventory.ssh_common_args(self.root),
            "ansible_python_interpreter": "/usr/bin/python3",
        }


@contextmanager
def running_nodes(root: Path) -> Iterator[Nodes]:
    # The umask of the daemon becomes the one of every command on the host; modes of new files
    # depend on it.
    before = os.umask(0o022)
    try:
        members = sandbox_nodes.up(root, len(NAMES))
    finally:
        os.umask(before)
    try:
        yield Nodes(root, members)
    finally:
        sandbox_nodes.down(root)
