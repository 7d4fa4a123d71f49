"""Starts the sandbox behind an inventory when a run needs it."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, HostUnreachable
from playrunner.inventory.inventory import Inventory
from playrunner.text.documents import read_json_object
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING, default_templar

RECORD = "sandbox_state"  # the inventory variable that marks its hosts as the sandbox's
GROUP = "nodes"
ANSWER_SECONDS = 2.0
# A sandbox record that is missing, truncated or not ours counts as "not running".
_UNREADABLE = (BadInput, ValueError, KeyError, TypeError, AttributeError)


def ensure_sandbox_running(inventory: Inventory, count: int = 0) -> None:
    """Start the sandbox with at least `count` nodes and add them to the inventory, if it is the
    sandbox's."""
    members = inventory.groups.get(GROUP)
    folder = _folder(inventory, next(iter(members))) if members else None
    if not members or folder is None:
        return
    needed = max(count, len(members))
    nodes = _nodes(folder)
    # A single node that does not answer is left alone: its loss may be what is rehearsed.
    if len(nodes) < needed or not any(map(_accepts_connections, nodes.values())):
        _start_sandbox("--nodes", str(needed))
        nodes = _nodes(folder)
    for name in nodes:
        if name not in inventory.hosts:
            inventory.add_host(name, [GROUP], {})


def ensure_cloud_sandbox_running(inventory: Inventory, modules: Iterable[str]) -> None:
    """Start the simulated clouds and cluster that these modules use, if the inventory is the
    sandbox's."""
    # A preflight is part of every play, also where the play does not use that cloud.
    families = {name.partition(".")[0] for name in modules if not name.endswith(".preflight")}
    clouds = families & {"aws", "gcp", "k8s"}
    folder = _folder(inventory, "localhost") if clouds else None
    if folder is not None:
        for cloud in sorted(clouds - {"k8s"}):
            _ensure_cloud(folder, cloud)
        if "k8s" in clouds and _lookup(inventory, "localhost", "kubeconfig") == str(
            folder / "kubeconfig.yaml"
        ):
            _ensure_cluster(folder)


def ensure_registry_running(inventory: Inventory) -> None:
    """Start the registry of images, if the inventory is the sandbox's and it is installed; where it
    is not, the inventory tells what to install as soon as its address is asked for."""
    folder = _folder(inventory, "localhost") if shutil.which("docker-registry") else None
    if folder is None:
        return
    try:
        host, _, port = read_json_object(folder / "registry.json")["address"].partition(":")
        up = _accepts_connections({"address": host, "port": int(port)})
    except _UNREADABLE:
        up = False
    if not up:
        _start_sandbox("--only", "registry")


def ensure_datasets_running(inventory: Inventory) -> None:
    """Start the server of stand-in data sets, if the inventory is the sandbox's."""
    folder = _folder(inventory, "localhost")
    if folder is not None:
        _ensure_cloud(folder, "datasets")


def _ensure_cloud(folder: Path, cloud: str) -> None:
    try:
        address = read_json_object(folder / f"{cloud}.json")["endpoint_url"].removeprefix("http://")
        host, _, port = address.partition(":")
        up = _accepts_connections({"address": host, "port": int(port)})
    except _UNREADABLE:
        up = False
    if not up:
        _start_sandbox("--only", cloud)


def _ensure_cluster(folder: Path) -> None:
    try:
        host, _, port = (
            read_json_object(folder / "kube.json")["server"].removeprefix("https://").partition(":")
        )
        up = (folder / "kube" / "controllers.json").exists() and _accepts_connections(
            {"address": host, "port": int(port)}
        )
    except _UNREADABLE:
        up = False
    if not up:
        _start_sandbox("--only", "kube")


def _folder(inventory: Inventory, host: str) -> Path | None:
    """The sandbox's state folder, if the inventory's hosts are the sandbox's."""
    folder = _lookup(inventory, host, RECORD)
    return Path(folder) if folder else None


def _lookup(inventory: Inventory, host: str, name: str) -> str:
    """A variable's value; empty where it has none."""
    if name not in inventory.variables(host):
        return ""
    value = Scope(RunVariables(inventory, default_templar, {}, {}), host).lookup(name)
    return "" if value is MISSING else str(value)


def _nodes(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        return dict(read_json_object(folder / "nodes.json")["nodes"])
    except _UNREADABLE:
        return {}


def _accepts_connections(node: dict[str, Any]) -> bool:
    try:
        with socket.create_connection((node["address"], node["port"]), ANSWER_SECONDS):
            return True
    except OSError:
        return False


def _start_sandbox(*arguments: str) -> None:
    import subprocess

    # The product uses the sandbox as a program, never as a library.
    command = [sys.executable, "-m", "playrunner.sandbox", "up", *arguments]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    if ran.returncode:
        raise HostUnreachable(f"the sandbox did not start: {(ran.stderr or ran.stdout).strip()}")
