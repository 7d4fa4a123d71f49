"""SSH nodes: real `sshd` processes on loopback addresses, run as the current user, each with its
own scratch folder."""

from __future__ import annotations

import errno
import ipaddress
import json
import random
import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from playrunner.sandbox import sshd, state
from playrunner.sandbox.node_inventory import (
    Node,
    inventory_file,
    inventory_text,
    key_file,
    known_hosts_file,
    ssh_common_args,
)
from playrunner.sandbox.state import BadRequest, SandboxError

DEFAULT_COUNT = 2
MOST_NODES = 500
PORTS = range(
    20000, 32000
)  # below the ports that the kernel hands out by itself, so that ours stay ours
PORT_ATTEMPTS = 5  # another program may take a port between our look and sshd's
ANSWER_SECONDS = 5.0
MARK = "PLAYRUNNER_SANDBOX_NODE"


def up(root: Path, count: int = DEFAULT_COUNT) -> tuple[Node, ...]:
    """Bring at least `count` nodes up: healthy ones are kept, missing ones started again, more are
    added."""
    if not 1 <= count <= MOST_NODES:
        raise BadRequest(f"--nodes must be from 1 to {MOST_NODES}, not {count}")
    if re.search(r'["%\n]', str(root)):
        raise BadRequest(
            f'sshd cannot use the folder {root}; set PLAYRUNNER_STATE_HOME to one without " and %'
        )
    program = sshd.find()
    with state.locked(root):
        known = status(root)
        if len(known) >= count and all(node.alive for node in known):
            return known
        return _start_missing(root, program, known, max(count, len(known)))


def status(root: Path) -> tuple[Node, ...]:
    """Every node that was brought up in this folder, alive or not."""
    try:
        record = json.loads(_record_file(root).read_text())
    except FileNotFoundError:
        return ()
    nodes = [
        Node(name, of["address"], of["port"], Path(of["scratch"]))
        for name, of in record["nodes"].items()
    ]
    return tuple(_looked_at(root, node) for node in nodes)


def stop(root: Path, nodes: Iterable[Node]) -> None:
    """End these nodes with every session and process in them; their files stay, and `up` starts
    them again."""
    daemons = [_daemon(root, node) for node in nodes]
    listeners = sshd.listeners(daemons)
    sessions = state.descendants(listeners)
    state.end(listeners)
    # Looked for once nothing new can start: what left its session (a daemon, a detached job) still
    # carries the mark.
    marks = {f"{MARK}={_mark(root, node)}" for node in nodes}
    left = (sessions | state.with_environment(marks)) - state.own_line()
    # Looked for again: a process that is just becoming another program shows no environment for a
    # moment
    while left:
        state.end(left)
        left = state.with_environment(marks) - state.own_line()
    for daemon in daemons:
        daemon.pid_file.unlink(missing_ok=True)


def down(root: Path) -> None:
    """End every node and remove every file of theirs; nothing to do when nothing is up."""
    if not root.is_dir():
        return
    with state.locked(root):
        stop(root, status(root))
        for folder in ("nodes", "homes", "sshd", "shared"):
            state.remove_tree(root / folder)
        key = key_file(root)
        for file in (
            _record_file(root),
            inventory_file(root),
            known_hosts_file(root),
            key,
            key.with_suffix(".pub"),
        ):
            file.unlink(missing_ok=True)
        (root / "lock").unlink()
        with suppress(OSError):  # something that is not ours lives there too
            root.rmdir()


def _start_missing(
    root: Path, program: str, known: tuple[Node, ...], count: int
) -> tuple[Node, ...]:
    stop(
        root, [node for node in known if not node.alive]
    )  # what is left of them would block the new ones
    settings: str | None = None
    for _ in range(PORT_ATTEMPTS):
        nodes = _placed(root, known, count)
        stop(root, [node for node in known if node.alive and node not in nodes])
        missing = [node for node in nodes if not node.alive]
        _make_room(root, missing)
        settings = settings or sshd.common_settings(program, key_file(root).with_suffix(".pub"))
        for node in missing:
            sshd.write_settings(
                _daemon(root, node), node.address, node.port, _environment(root, node), settings
            )
        started = sshd.start(program, [_daemon(root, node) for node in missing])
        _write_record(root, nodes)
        known = tuple(node if node.alive else _looked_at(root, node) for node in nodes)
        if started:
            return known
    raise SandboxError(f"found no free port in {PORT_ATTEMPTS} attempts; see {root}/sshd/node1/log")


def _placed(root: Path, known: tuple[Node, ...], count: int) -> tuple[Node, ...]:
    """Give every node an address and port: as before where that is still free, else a new port."""
    spread = _can_listen(
        "127.0.0.2", 0
    )  # macOS has 127.0.0.1 alone: there, each node has a port of its own
    nodes = list(known)
    for number in range(len(known) + 1, count + 1):
        name = f"node{number}"
        address = str(ipaddress.IPv4Address("127.0.0.1") + number) if spread else "127.0.0.1"
        nodes.append(
            Node(name, address, known[0].port if known and spread else 0, root / "nodes" / name)
        )
    fine = [
        node.alive or bool(node.port and _can_listen(node.address, node.port)) for node in nodes
    ]
    ports = random.sample(PORTS, len(PORTS))
    if spread:
        if all(fine):
            return tuple(nodes)
        shared = next(
            (port for port in ports if all(_can_listen(node.address, port) for node in nodes)), None
        )
        return tuple(_moved(node, shared) for node in nodes)
    taken = {node.port for node in nodes}
    free = (port for port in ports if port not in taken and _can_listen("127.0.0.1", port))
    return tuple(
        node if stays else _moved(node, next(free, None))
        for node, stays in zip(nodes, fine, strict=True)
    )


def _moved(node: Node, port: int | None) -> Node:
    if port is None:
        raise SandboxError(
            f"no port from {PORTS[0]} to {PORTS[-1]} is free on the loopback addresses"
        )
    return replace(node, port=port, pid=None, alive=False)


def _can_listen(address: str, port: int) -> bool:
    with socket.socket() as probe:
        # As sshd does: the last moments of connections that are over do not hold a port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES):
                return False
            raise
    return True


def _make_room(root: Path, nodes: list[Node]) -> None:
    keys = [key_file(root)]
    for node in nodes:
        daemon = _daemon(root, node)
        for folder in (daemon.folder, node.scratch, _home(root, node)):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        keys.append(daemon.host_key)
    sshd.make_keys(keys)


def _write_record(root: Path, nodes: tuple[Node, ...]) -> None:
    """Tell others what there is: known_hosts, an inventory, and the record that
    inventories/local.yaml reads."""
    known = [
        f"[{node.address}]:{node.port} {_daemon(root, node).public_host_key}\n" for node in nodes
    ]
    state.write_file(known_hosts_file(root), "".join(known))
    places = {
        node.name: {"address": node.address, "port": node.port, "scratch": str(node.scratch)}
        for node in nodes
    }
    shared = {
        "user": sshd.login_name(),
        "key_file": str(key_file(root)),
        "ssh_common_args": ssh_common_args(root),
    }
    state.write_file(_record_file(root), json.dumps({**shared, "nodes": places}, indent=2) + "\n")
    state.write_file(inventory_file(root), inventory_text(root, nodes))


def _looked_at(root: Path, node: Node) -> Node:
    pid = _daemon(root, node).pid()
    return replace(node, pid=pid, alive=pid is not None and _answers(node))


def _answers(node: Node) -> bool:
    try:
        with socket.create_connection((node.address, node.port), timeout=ANSWER_SECONDS):
            return True
    except OSError:
        return False


def _environment(root: Path, node: Node) -> dict[str, str]:
    # A home of its own: what the user's shell start-up files do (other Pythons, greetings) is no
    # part of a node.
    return {MARK: _mark(root, node), "HOME": str(_home(root, node))}


def _mark(root: Path, node: Node) -> str:
    """What every process inside a node carries in its environment, so that `down` finds those that
    wandered off."""
    return f"{root}/{node.name}"


def _home(root: Path, node: Node) -> Path:
    return root / "homes" / node.name


def _daemon(root: Path, node: Node) -> sshd.Daemon:
    return sshd.Daemon(root / "sshd" / node.name)


def _record_file(root: Path) -> Path:
    return root / "nodes.json"
