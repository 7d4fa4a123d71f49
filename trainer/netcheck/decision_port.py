"""A door at the address where ranks will meet to train: rank 0 tells each other one there what
comes first.

Only rank 0 knows whether the network is proved already, and which port is free for proving it; all
must act alike. The door is shut once everybody has asked, so that whoever finds something listening
there later finds the training itself. Questions and answers carry a MAC made with the run's token,
where there is one.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time

from trainer.distributed.listening import hosting
from trainer.distributed.token import run_token
from trainer.node.seal import mac, same

ASK_SECONDS = 0.2  # from one try to the next, while rank 0 still loads its libraries
MOST_CALLERS = 64  # that have connected and not asked yet; the oldest makes room for the next
_ANSWER_SECONDS = 5.0
_LINE_BYTES = 256
_KNOCK = b"gate"  # how a caller begins, so that a stray one is not counted


class Door:
    """Rank 0's. It says the same to all."""

    def __init__(self, address: str, port: int, word: str, callers: int) -> None:
        self._socket, self._word, self._callers = hosting(address, port), word.encode(), callers
        self._heard: set[int] = set()
        self._waiting: dict[socket.socket, float] = {}  # since when
        self._shut = threading.Event()
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def shut(self, seconds: float) -> None:
        """When all have asked, or the time is over."""
        self._thread.join(seconds)
        self._shut.set()
        self._thread.join(2 * _ANSWER_SECONDS)

    def _answer(self) -> None:
        with self._socket, selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            while len(self._heard) < self._callers and not self._shut.is_set():
                for key, _ in selector.select(ASK_SECONDS):
                    if key.fileobj is self._socket:
                        self._let_in(selector)
                    elif isinstance(key.fileobj, socket.socket):
                        self._tell(key.fileobj)
                        self._drop(key.fileobj, selector)
                late = time.monotonic() - _ANSWER_SECONDS
                for caller in [each for each, since in self._waiting.items() if since < late]:
                    self._drop(caller, selector)
            for caller in list(self._waiting):
                self._drop(caller, selector)

    def _let_in(self, selector: selectors.BaseSelector) -> None:
        try:
            caller, _ = self._socket.accept()
        except OSError:
            return  # it has left already
        caller.setblocking(False)
        if len(self._waiting) >= MOST_CALLERS:
            self._drop(next(iter(self._waiting)), selector)
        self._waiting[caller] = time.monotonic()
        selector.register(caller, selectors.EVENT_READ)

    def _drop(self, caller: socket.socket, selector: selectors.BaseSelector) -> None:
        del self._waiting[caller]
        selector.unregister(caller)
        caller.close()

    def _tell(self, caller: socket.socket) -> None:
        try:
            rank = _asking(caller.recv(_LINE_BYTES))
            if 0 < rank <= self._callers:
                caller.sendall(self._word + b" " + _proof(self._word, rank) + b"\n")
                self._heard.add(rank)
        except OSError:
            pass  # it asks again


def ask(address: str, port: int, rank: int, seconds: float) -> str:
    """What rank 0 says; nothing when it does not answer in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((address, port), _ANSWER_SECONDS) as door:
                door.sendall(b"%b %d %b\n" % (_KNOCK, rank, _proof(_KNOCK, rank)))
                word, _, proof = door.recv(_LINE_BYTES).strip().partition(b" ")
            if same(proof, _proof(word, rank)):
                return word.decode(errors="replace")
        except OSError:
            pass  # not there yet, or busy with another one
        time.sleep(ASK_SECONDS)
    return ""


def free_port(address: str) -> int:
    with hosting(address, 0) as probe:
        return int(probe.getsockname()[1])


def _asking(line: bytes) -> int:
    """The rank of a caller that has proved to be of this run; 0 for others."""
    knock, _, rest = line.strip().partition(b" ")
    rank, _, proof = rest.partition(b" ")
    if (
        knock != _KNOCK
        or len(rank) > 9
        or not rank.isdigit()
        or not same(proof, _proof(_KNOCK, int(rank)))
    ):
        return 0
    return int(rank)


def _proof(word: bytes, rank: int) -> bytes:
    return mac(run_token(), b"door", word, b"%d" % rank)
