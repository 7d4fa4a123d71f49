"""A server at the training's rendezvous address, before training: rank 0 tells each other rank what
to do first.

Only rank 0 knows whether the network check has passed already, and which port is free for it; all
ranks must act alike. The server closes once every rank has asked, so that what listens there later
is the training itself. Requests and replies carry a MAC made with the run's token, where there is
one.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time

from trainer.distributed.listening import hosting
from trainer.distributed.token import run_token
from trainer.node.seal import mac, same

RETRY_SECONDS = 0.2  # while rank 0 still imports its libraries
MAX_CLIENTS = 64  # connected without a request; at this many, the oldest is closed
_ANSWER_SECONDS = 5.0
_LINE_BYTES = 256
_GREETING = b"gate"  # the start of a request, so that a stray client is not counted


class DecisionServer:
    """Rank 0's side: the same decision for all."""

    def __init__(self, address: str, port: int, decision: str, clients: int) -> None:
        self._socket = hosting(address, port)
        self._decision, self._clients = decision.encode(), clients
        self._informed: set[int] = set()
        self._waiting: dict[socket.socket, float] = {}  # connected since
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self, seconds: float) -> None:
        """Once all ranks have asked, or after so many seconds."""
        self._thread.join(seconds)
        self._closing.set()
        self._thread.join(2 * _ANSWER_SECONDS)

    def _serve(self) -> None:
        with self._socket, selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            while len(self._informed) < self._clients and not self._closing.is_set():
                for key, _ in selector.select(RETRY_SECONDS):
                    if key.fileobj is self._socket:
                        self._accept(selector)
                    elif isinstance(key.fileobj, socket.socket):
                        self._reply(key.fileobj)
                        self._drop(key.fileobj, selector)
                late = time.monotonic() - _ANSWER_SECONDS
                for client in [client for client, since in self._waiting.items() if since < late]:
                    self._drop(client, selector)
            for client in list(self._waiting):
                self._drop(client, selector)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        try:
            client, _ = self._socket.accept()
        except OSError:
            return  # it has disconnected
        client.setblocking(False)
        if len(self._waiting) >= MAX_CLIENTS:
            self._drop(next(iter(self._waiting)), selector)
        self._waiting[client] = time.monotonic()
        selector.register(client, selectors.EVENT_READ)

    def _drop(self, client: socket.socket, selector: selectors.BaseSelector) -> None:
        del self._waiting[client]
        selector.unregister(client)
        client.close()

    def _reply(self, client: socket.socket) -> None:
        try:
            rank = _rank_of(client.recv(_LINE_BYTES))
            if 0 < rank <= self._clients:
                client.sendall(self._decision + b" " + _proof(self._decision, rank) + b"\n")
                self._informed.add(rank)
        except OSError:
            pass  # the rank retries


def ask(
    address: str, port: int, rank: int, seconds: float, retry_seconds: float = RETRY_SECONDS
) -> str:
    """Rank 0's decision; "" when it does not answer in time."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        try:
            patience = min(_ANSWER_SECONDS, left)
            with socket.create_connection((address, port), patience) as server:
                server.sendall(b"%b %d %b\n" % (_GREETING, rank, _proof(_GREETING, rank)))
                decision, _, proof = server.recv(_LINE_BYTES).strip().partition(b" ")
            if same(proof, _proof(decision, rank)):
                return decision.decode(errors="replace")
        except OSError:
            pass  # not listening yet
        time.sleep(retry_seconds)
    return ""


def free_port(address: str) -> int:
    with hosting(address, 0) as probe:
        return int(probe.getsockname()[1])


def _rank_of(line: bytes) -> int:
    """The rank of a client that has proved to be of this run; 0 for others."""
    greeting, _, rest = line.strip().partition(b" ")
    rank, _, proof = rest.partition(b" ")
    if (
        greeting != _GREETING
        or len(rank) > 9
        or not rank.isdigit()
        or not same(proof, _proof(_GREETING, int(rank)))
    ):
        return 0
    return int(rank)


def _proof(text: bytes, rank: int) -> bytes:
    return mac(run_token(), b"decision", text, b"%d" % rank)
