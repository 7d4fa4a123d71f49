"""Paces the opening of SSH connections: few logins at a time, and another try where a server closed
one before it had said a word, as sshd does with those beyond its MaxStartups."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Hashable
from typing import TypeVar

from playrunner.errors import HostUnreachable

# sshd begins to refuse at 10 unless it is told otherwise (MaxStartups 10:30:100)
AT_ONCE_TO_A_SERVER = 8
# More handshakes under one interpreter only make each of them slower, until servers give up
AT_ONCE = 128
TRIES = 6
FIRST_PAUSE_SECONDS = 0.2  # doubled after each try, and varied: others may wait for the same server
UNREAD_SECONDS = 10.0  # a server that refuses does so at once; later it is a silent one

_Opened = TypeVar("_Opened")
_lock = threading.Lock()
_servers: dict[Hashable, threading.Semaphore] = {}
_all = threading.Semaphore(AT_ONCE)


class ServerBusy(HostUnreachable):
    """The server closed the connection before the login began; a later one may get through."""


def opened_in_turn(server: Hashable, open_once: Callable[[], _Opened]) -> _Opened:
    """Open a connection when it is its turn; again, with growing pauses, when the server is
    busy."""
    with _lock:
        turns = _servers.setdefault(server, threading.Semaphore(AT_ONCE_TO_A_SERVER))
    for tried in range(1, TRIES + 1):
        try:
            with turns, _all:
                return open_once()
        except ServerBusy as busy:
            if tried == TRIES:
                raise HostUnreachable(
                    f"{busy}; {TRIES} logins were closed unread: sshd may have too many at once"
                    " (MaxStartups)"
                ) from None
            time.sleep(FIRST_PAUSE_SECONDS * 2 ** (tried - 1) * random.uniform(0.5, 1.5))
    raise AssertionError("a try returns or raises")


def closed_unread(error: BaseException, seconds: float, why: str) -> bool:
    """Whether a server closed a connection without its greeting; `why` may be a ProxyCommand's
    message."""
    if seconds > UNREAD_SECONDS:
        return False
    return (
        "Error reading SSH protocol banner" in str(error) and "ProxyCommand ended" not in why
    ) or "kex_exchange_identification" in why
