"""A door at the address where ranks will meet to train: rank 0 tells each other one there what comes first.

Only rank 0 knows whether the network is proved already, and which port is free for proving it; all must act alike. The door is
shut once everybody has asked, so that whoever finds something listening there later finds the training itself.
"""

from __future__ import annotations

import socket
import threading
import time

ASK_SECONDS = 0.2  # from one try to the next, while rank 0 still loads its libraries
_ANSWER_SECONDS = 5.0
_KNOCK = "gate"  # how a caller begins, so that a stray one is not counted


class Door:
    """Rank 0's. It says the same to all."""

    def __init__(self, port: int, word: str, callers: int) -> None:
        self._socket, self._word, self._callers = _listening(port), word, callers
        self._heard: set[str] = set()
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def shut(self, seconds: float) -> None:
        """When all have asked, or the time is over."""
        self._thread.join(seconds)
        self._socket.close()
        self._thread.join(2 * _ANSWER_SECONDS)

    def _answer(self) -> None:
        self._socket.settimeout(ASK_SECONDS)
        while len(self._heard) < self._callers:
            try:
                caller, _ = self._socket.accept()
            except TimeoutError:
                continue
            except OSError:
                return  # it is shut
            with caller:
                self._tell(caller)
        self._socket.close()

    def _tell(self, caller: socket.socket) -> None:
        try:
            caller.settimeout(_ANSWER_SECONDS)
            knock, _, rank = caller.recv(64).decode(errors="replace").strip().partition(" ")
            if knock == _KNOCK and rank.isdigit():
                caller.sendall(f"{self._word}\n".encode())
                self._heard.add(rank)
        except OSError:
            pass  # it asks again


def ask(address: str, port: int, rank: int, seconds: float) -> str:
    """What rank 0 says; nothing when it does not answer in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((address, port), _ANSWER_SECONDS) as door:
                door.sendall(f"{_KNOCK} {rank}\n".encode())
                said = door.makefile().readline().strip()
            if said:
                return said
        except OSError:
            pass  # not there yet, or busy with another one
        time.sleep(ASK_SECONDS)
    return ""


def free_port() -> int:
    with _listening(0) as probe:
        return int(probe.getsockname()[1])


def _listening(port: int) -> socket.socket:
    """For both kinds of addresses, where the system has both."""
    try:
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024)
    except (OSError, ValueError):
        return socket.create_server(("", port), backlog=1024)
