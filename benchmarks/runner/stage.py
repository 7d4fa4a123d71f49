"""The hosts of a benchmark run: private SSH nodes, their scratch folders, and what is in them
afterwards."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playrunner.sandbox import node_inventory, sshd
from playrunner.sandbox import nodes as sandbox_nodes

PAYLOAD_BYTES = 1024 * 1024
LIMITS = "# limits of the service\nworkers = 2\nlog_level = debug\nopen_files = 1024\n"

Tree = dict[str, str]


@dataclass(frozen=True)
class Stage:
    """Some of the nodes, described for every tool in its own way."""

    folder: Path
    root: Path
    nodes: tuple[node_inventory.Node, ...]

    @property
    def size(self) -> int:
        return len(self.nodes)

    @property
    def inventory(self) -> Path:
        return self.folder / f"inventory-{self.size}.yaml"

    @property
    def description(self) -> Path:
        return self.folder / f"stage-{self.size}.json"

    @property
    def payload(self) -> Path:
        return self.folder / "payload.bin"

    def of_size(self, size: int) -> Stage:
        """The first `size` of these nodes, with their inventory files written."""
        chosen = Stage(self.folder, self.root, self.nodes[:size])
        chosen.write()
        return chosen

    def write(self) -> None:
        text = node_inventory.inventory_text(self.root, self.nodes, {"payload": str(self.payload)})
        self.inventory.write_text(text)
        description = {
            "user": sshd.login_name(),
            "key_file": str(node_inventory.key_file(self.root)),
            "known_hosts_file": str(node_inventory.known_hosts_file(self.root)),
            "payload": str(self.payload),
            "hosts": [node.summary() for node in self.nodes],
        }
        self.description.write_text(json.dumps(description))

    def reset(self) -> None:
        """Hosts as they were before anybody came."""
        for node in self.nodes:
            shutil.rmtree(node.scratch, ignore_errors=True)
            (node.scratch / "etc").mkdir(parents=True)
            (node.scratch / "etc" / "limits.conf").write_text(LIMITS)

    def trees(self) -> dict[str, Tree]:
        """Every file, folder and link on every host, with mode and content."""
        return {node.name: _tree(node.scratch) for node in self.nodes}


@contextmanager
def stage_of(size: int) -> Iterator[Stage]:
    """Nodes for one run of the benchmark; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="playrunner-bench-"))
    root = folder / "sandbox"
    try:
        (folder / "payload.bin").write_bytes(random.Random(20).randbytes(PAYLOAD_BYTES))
        (folder / "ansible.cfg").touch()
        yield Stage(folder, root, sandbox_nodes.up(root, size))
    finally:
        sandbox_nodes.down(root)
        shutil.rmtree(folder, ignore_errors=True)


def _tree(top: Path) -> Tree:
    entries = {}
    for path in sorted(top.rglob("*")):
        mode = f"{path.lstat().st_mode & 0o7777:04o}"
        if path.is_symlink():
            entries[str(path.relative_to(top))] = f"link to {path.readlink()}"
        elif path.is_dir():
            entries[str(path.relative_to(top))] = f"folder {mode}"
        else:
            entries[str(path.relative_to(top))] = (
                f"file {mode} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
            )
    return entries
