"""The stage that an inventory stands on: a sandbox's nodes are started when they are needed, and
found when they are up."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, HostUnreachable
from playrunner.inventory.inventory import Inventory
from playrunner.playbook.keywords import templar
from playrunner.text.documents import read_json_object
from playrunner.variables.host_memory import World
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

RECORD = "sandbox_state"  # the variable by which an inventory says that its hosts are the sandbox's
GROUP = "nodes"
ANSWER_SECONDS = 2.0
# A record of the sandbox that is missing, cut short or another program's: as if it were not up.
_UNREADABLE = (BadInput, ValueError, KeyError, TypeError, AttributeError)


def set_stage(inventory: Inventory, count: int = 0) -> None:
    """Have the sandbox up with at least `count` nodes and all of them in the inventory, if it is
    about the sandbox at all."""
    members = inventory.groups.get(GROUP)
    folder = _folder(inventory, next(iter(members))) if members else None
    if not members or folder is None:
        return
    wanted = max(count, len(members))
    nodes = _nodes(folder)
    # A node that alone does not answer is left so: its loss may be what is being rehearsed.
    if len(nodes) < wanted or not any(map(_answers, nodes.values())):
        _bring_up("--nodes", str(wanted))
        nodes = _nodes(folder)
    for name in nodes:
        if name not in inventory.hosts:
            inventory.add_host(name, [GROUP], {})


def set_cloud_stage(inventory: Inventory, modules: Iterable[str]) -> None:
    """Have the pretend clouds and the cluster up that these modules are about, if the inventory is
    about the sandbox."""
    # A preflight stands in every play, and says nothing of a cloud that the play has nothing to do
    # with.
    wanted = {name.partition(".")[0] for name in modules if not name.endswith(".preflight")} & {
        "aws",
        "gcp",
        "k8s",
    }
    folder = _folder(inventory, "localhost") if wanted else None
    if folder is not None:
        for cloud in sorted(wanted - {"k8s"}):
            _set_cloud(folder, cloud)
        if "k8s" in wanted and _lookup(inventory, "localhost", "kubeconfig") == str(
            folder / "kubeconfig.yaml"
        ):
            _set_cluster(folder)


def _set_cloud(folder: Path, cloud: str) -> None:
    try:
        address = read_json_object(folder / f"{cloud}.json")["endpoint_url"].removeprefix("http://")
        host, _, port = address.partition(":")
        up = _answers({"address": host, "port": int(port)})
    except _UNREADABLE:
        up = False
    if not up:
        _bring_up("--only", cloud)


def _set_cluster(folder: Path) -> None:
    try:
        host, _, port = (
            read_json_object(folder / "kube.json")["server"].removeprefix("https://").partition(":")
        )
        up = (folder / "kube" / "controllers.json").exists() and _answers(
            {"address": host, "port": int(port)}
        )
    except _UNREADABLE:
        up = False
    if not up:
        _bring_up("--only", "kube")


def _folder(inventory: Inventory, host: str) -> Path | None:
    """Where the sandbox keeps its records, when the inventory's hosts are the sandbox's."""
    found = _lookup(inventory, host, RECORD)
    return Path(found) if found else None


def _lookup(inventory: Inventory, host: str, name: str) -> str:
    """A variable's value; empty where it has none."""
    if name not in inventory.variables(host):
        return ""
    found = Scope(World(inventory, templar, {}, {}), host).lookup(name)
    return "" if found is MISSING else str(found)


def _nodes(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        return dict(read_json_object(folder / "nodes.json")["nodes"])
    except _UNREADABLE:
        return {}


def _answers(node: dict[str, Any]) -> bool:
    try:
        with socket.create_connection((node["address"], node["port"]), ANSWER_SECONDS):
            return True
    except OSError:
        return False


def _bring_up(*words: str) -> None:
    import subprocess

    # The sandbox is a stage kept apart: the product reaches it as a program, never as a library.
    command = [sys.executable, "-m", "playrunner.sandbox", "up", *words]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    if ran.returncode:
        raise HostUnreachable(f"the sandbox did not start: {(ran.stderr or ran.stdout).strip()}")
