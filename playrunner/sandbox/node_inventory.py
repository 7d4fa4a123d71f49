"""An SSH node, the files that reach it (key, known hosts), and the inventory of all nodes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from playrunner.sandbox import sshd


@dataclass(frozen=True)
class Node:
    """One node: where it listens, where it may write, and whether it is there."""

    name: str
    address: str
    port: int
    scratch: Path
    pid: int | None = None
    alive: bool = False

    def summary(self) -> dict[str, object]:
        return {**asdict(self), "scratch": str(self.scratch)}


def inventory_text(
    root: Path, nodes: Iterable[Node], variables: Mapping[str, object] | None = None
) -> str:
    """An inventory in Ansible's format with the group `nodes`; JSON's spelling of a value is also
    YAML's."""
    lines = ["nodes:", "  hosts:"]
    for node in nodes:
        own = {
            "ansible_host": node.address,
            "ansible_port": node.port,
            "scratch": str(node.scratch),
        }
        lines += [f"    {node.name}:", *_assignments(own, indent=6)]
    shared = {
        "ansible_user": sshd.login_name(),
        "ansible_ssh_private_key_file": str(key_file(root)),
        "ansible_ssh_common_args": ssh_common_args(root),
    }
    lines += ["  vars:", *_assignments({**shared, **(variables or {})}, indent=4)]
    return "\n".join(lines) + "\n"


def key_file(root: Path) -> Path:
    """The private key that opens every node of this folder."""
    return root / "client_key"


def known_hosts_file(root: Path) -> Path:
    """The host keys of exactly these nodes."""
    return root / "known_hosts"


def inventory_file(root: Path) -> Path:
    """The inventory of what is up."""
    return root / "inventory.yaml"


def ssh_common_args(root: Path) -> str:
    """The SSH options by which a client trusts exactly these nodes."""
    file = str(known_hosts_file(root))
    # ssh splits this option's value at spaces by itself, after the shell's rules have been applied.
    file = f'"{file}"' if " " in file else file
    return f"-o {shlex.quote('UserKnownHostsFile=' + file)} -o StrictHostKeyChecking=yes"


def _assignments(variables: Mapping[str, object], indent: int) -> list[str]:
    return [f"{' ' * indent}{name}: {json.dumps(value)}" for name, value in variables.items()]
