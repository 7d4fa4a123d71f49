"""Which nodes can reach each other: every node connects to every other at once, which finds all
dead links in one round; of many nodes, each connects to some, so that a thousand do not open a
million connections."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping, Sequence

from trainer.distributed.listening import listening

CONNECT_SECONDS = 5.0  # a lost packet is sent again after one second, then after two


ALL_LINKS_NODES = 64  # up to so many nodes every link is probed


def probed(rank: int, ranks: Sequence[int]) -> list[int]:
    """The ranks that one connects to: all; of many those 1, 2, 4, 8, ... places after it, which
    are as many as the logarithm, and are others for each of the nodes that connect to it."""
    if len(ranks) <= ALL_LINKS_NODES:
        return [other for other in ranks if other != rank]
    own = ranks.index(rank)
    steps = (1 << exponent for exponent in range((len(ranks) - 1).bit_length()))
    return [ranks[(own + step) % len(ranks)] for step in steps]


class Mesh:
    """This node's listener for the network check. The kernel accepts for it, however busy this
    process is; nothing is read."""

    def __init__(self, master: str) -> None:
        self._host = _own_address(master)
        self._listener = listening(self._host, 0) if self._host else None
        if self._listener:
            threading.Thread(target=_accept_all, args=(self._listener,), daemon=True).start()

    @property
    def address(self) -> tuple[str, int] | None:
        """Host and port; None where unknown, as in a network without IPv4: then links are not
        probed."""
        return (self._host, int(self._listener.getsockname()[1])) if self._listener else None

    def unreachable(self, addresses: Mapping[int, tuple[str, int]]) -> dict[int, str]:
        """The ranks that cannot be reached from here, with the reason."""
        errors: dict[int, str] = {}
        threads = [
            threading.Thread(target=_probe, args=(rank, address, errors), daemon=True)
            for rank, address in addresses.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(CONNECT_SECONDS + 1)
        return dict(errors)


def _accept_all(listener: socket.socket) -> None:
    """Close each connection at once, so that there is room for the next."""
    while True:
        try:
            listener.accept()[0].close()
        except OSError:
            return  # closed, or out of file descriptors: the kernel still accepts


def _probe(rank: int, address: tuple[str, int], errors: dict[int, str]) -> None:
    try:
        socket.create_connection((address[0], address[1]), CONNECT_SECONDS).close()
    except TimeoutError:
        errors[rank] = f"no answer within {CONNECT_SECONDS:g} s"
    except OSError as error:
        errors[rank] = os.strerror(error.errno) if error.errno else str(error)


def _own_address(master: str) -> str:
    """The address of this node on the route to the first one; a pod knows its own."""
    if os.environ.get("POD_IP", "").count(".") == 3:
        return os.environ["POD_IP"]
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((socket.gethostbyname(master), 9))  # UDP: only picks the route
            return str(probe.getsockname()[0])
    except OSError:
        return ""
