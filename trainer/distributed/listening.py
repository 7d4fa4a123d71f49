"""Sockets that listen on one address of this machine, and on no other. Standard library only."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys

_BACKLOG = 1024


def listening(address: str, port: int) -> socket.socket:
    """Listen on an address, or on the first of a name's addresses that this machine has."""
    failure: OSError = OSError(f"{address} has no address")
    for family, _, _, _, where in socket.getaddrinfo(address, port, type=socket.SOCK_STREAM):
        try:
            return socket.create_server((str(where[0]), port), family=family, backlog=_BACKLOG)
        except OSError as error:
            failure = error
    raise failure


def hosting(master: str, port: int) -> socket.socket:
    """Listen where other processes connect to `master`: a pod on its own address, else on that of
    the name."""
    address = os.environ.get("POD_IP") or master
    if _is_unreachable_elsewhere(address):
        print(
            f"trainer: {address} is loopback on this machine, which other nodes cannot reach: port"
            f" {port} listens on all addresses; set MASTER_ADDR to the address of this node",
            file=sys.stderr,
            flush=True,
        )
        address = "0.0.0.0"
    return listening(address, port)


def _is_unreachable_elsewhere(address: str) -> bool:
    """A host's own name may be loopback in its /etc/hosts, where another launcher has given it to
    all nodes."""
    several_nodes = int(os.environ.get("WORLD_SIZE") or 1) > int(
        os.environ.get("LOCAL_WORLD_SIZE") or 1
    )
    try:
        ipaddress.ip_address(address)
        return False
    except ValueError:
        return (
            several_nodes
            and address != "localhost"
            and ipaddress.ip_address(socket.gethostbyname(address)).is_loopback
        )
