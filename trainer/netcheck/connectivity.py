"""Who can reach whom: every node connects to every other at once, which finds all dead links in one
round."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping

from trainer.distributed.listening import listening

CONNECT_SECONDS = 5.0  # a lost packet is sent again after one second, then after two


class Mesh:
    """This node's door, open while the gate lasts. The system answers for it, however busy this
    process is; nothing is read."""

    def __init__(self, master: str) -> None:
        self._address = _own_address(master)
        self._door = listening(self._address, 0) if self._address else None
        if self._door:
            threading.Thread(target=_wave_through, args=(self._door,), daemon=True).start()

    @property
    def place(self) -> tuple[str, int] | None:
        """Where it is; None where that cannot be told, as in a network without IPv4: then nobody is
        asked to knock."""
        return (self._address, int(self._door.getsockname()[1])) if self._door else None

    def unreachable(self, places: Mapping[int, tuple[str, int]]) -> dict[int, str]:
        """Those of the others that cannot be reached from here, with the reason."""
        found: dict[int, str] = {}
        threads = [
            threading.Thread(target=_try, args=(rank, place, found), daemon=True)
            for rank, place in places.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(CONNECT_SECONDS + 1)
        return dict(found)


def _wave_through(door: socket.socket) -> None:
    """Whoever has come is let go, so that there is room for the next."""
    while True:
        try:
            door.accept()[0].close()
        except OSError:
            return  # it is closed, or there are no more files to be had: the system answers on


def _try(rank: int, place: tuple[str, int], found: dict[int, str]) -> None:
    try:
        socket.create_connection(tuple(place), CONNECT_SECONDS).close()
    except TimeoutError:
        found[rank] = f"no answer within {CONNECT_SECONDS:g} s"
    except OSError as error:
        found[rank] = os.strerror(error.errno) if error.errno else str(error)


def _own_address(master: str) -> str:
    """By which way this node reaches the first one, the others reach it, too. A pod has been told."""
    if os.environ.get("POD_IP", "").count(".") == 3:
        return os.environ["POD_IP"]
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(
                (socket.gethostbyname(master), 9)
            )  # sends nothing: the kernel only picks the way
            return str(probe.getsockname()[0])
    except OSError:
        return ""
