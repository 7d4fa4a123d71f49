"""Heartbeats between nodes: each node exchanges them with the first one; a node without heartbeats
is lost.

The first node listens, the others connect. Both prove that they hold the run's token before
anything is parsed:

    first node   NONCE
    other node   NONCE MAC NAME
    first node   a sealed {"welcome": 1}

After that every line is sealed: a MAC, a space, a JSON object. A line that is not closes the
connection, never the run.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import time
from collections.abc import Callable, Collection
from typing import Any

from trainer.errors import BadInput
from trainer.node.seal import Seal, mac, same

BEAT_SECONDS = 1.0
CONNECT_SECONDS = 3.0  # for the whole handshake with the first node
HANDSHAKE_SECONDS = 5.0  # for a client to authenticate; a node of the run does so at once
MAX_UNAUTHENTICATED = 64  # open connections; at this many, the oldest is closed
MAX_LOGGED_REFUSALS = 8  # addresses whose refusal is logged
_NONCE_BYTES = 32
_HANDSHAKE_BYTES = 512
_LINE_BYTES = 1 << 18  # a failure with the last 20 lines of a log
_READ_BYTES = 1 << 16


class Peer:
    """One end of a connection: JSON messages in and out, and when the last one came."""

    def __init__(self, line: socket.socket, address: str = "") -> None:
        line.setblocking(False)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.line, self.address, self.name = line, address, ""
        self.heard = time.monotonic()
        self.open = True
        self.nonce = _nonce()
        self._outgoing_seal: Seal | None = None
        self._incoming_seal: Seal | None = None
        self._incoming = b""

    def authenticated(self, name: str, outgoing: Seal, incoming: Seal) -> None:
        """From here on lines are sealed."""
        self.name, self._outgoing_seal, self._incoming_seal = name, outgoing, incoming

    def send(self, message: dict[str, Any]) -> None:
        if self._outgoing_seal:
            self.write(self._outgoing_seal.closed(json.dumps(message).encode()))

    def write(self, line: bytes) -> None:
        try:
            self.line.sendall(line + b"\n")
        except OSError:  # disconnected, or it does not read
            self.open = False

    def receive(self) -> list[dict[str, Any]]:
        """The messages received; a line without a valid seal closes the connection."""
        messages: list[dict[str, Any]] = []
        for line in self.lines(_LINE_BYTES):
            message = self._message(line)
            if message is None:
                self.open = False
                break
            messages.append(message)
            self.heard = time.monotonic()
        return messages

    def lines(self, max_bytes: int) -> list[bytes]:
        """Whole lines received; a longer one closes the connection."""
        try:
            data = self.line.recv(_READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        *lines, self._incoming = (self._incoming + data).split(b"\n")
        if not data or max(map(len, (*lines, self._incoming))) > max_bytes:
            self.open = False
        return lines if data else []

    def close(self) -> None:
        self.line.close()

    def _message(self, line: bytes) -> dict[str, Any] | None:
        text = self._incoming_seal.opened(line) if self._incoming_seal else None
        try:
            message = None if text is None else json.loads(text)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None


class HeartbeatServer:
    """The first node's side: accepts and authenticates the connections of the other nodes."""

    def __init__(
        self,
        address: str,
        port: int,
        token: str,
        names: Collection[str],
        selector: selectors.BaseSelector,
        note: Callable[[str], None],
    ) -> None:
        self.token, self.names, self.selector, self.note = token, frozenset(names), selector, note
        try:
            self.listener = socket.create_server((address, port), backlog=256)
        except OSError as error:
            raise BadInput(
                f"cannot listen at {address}:{port}: {error.strerror};"
                " a new launch takes other ports"
            ) from None
        self.listener.setblocking(False)
        selector.register(self.listener, selectors.EVENT_READ, self)
        self.unauthenticated: list[Peer] = []
        self.peers: dict[str, Peer] = {}
        self._logged: set[str] = set()

    def accept(self) -> None:
        try:
            line, address = self.listener.accept()
        except OSError:
            return
        if len(self.unauthenticated) >= MAX_UNAUTHENTICATED:
            self._refuse(self.unauthenticated[0], "too many unauthenticated connections")
        peer = Peer(line, str(address[0]))
        self.unauthenticated.append(peer)
        self.selector.register(line, selectors.EVENT_READ, peer)
        peer.write(peer.nonce)

    def receive(self, peer: Peer) -> list[dict[str, Any]]:
        """A peer's messages, once it is authenticated."""
        if not peer.name:
            self._authenticate(peer)
            return []
        messages = peer.receive()
        if not peer.open:
            self.drop(peer)
        return messages

    def drop(self, peer: Peer) -> None:
        if peer in self.unauthenticated:
            self.unauthenticated.remove(peer)
        try:
            self.selector.unregister(peer.line)
        except (KeyError, ValueError):
            pass
        peer.close()
        if self.peers.get(peer.name) is peer:
            del self.peers[peer.name]

    def broadcast(self, message: dict[str, Any]) -> None:
        for peer in list(self.peers.values()):
            peer.send(message)
            if not peer.open:
                self.drop(peer)  # it reconnects when it can

    def drop_unauthenticated(self) -> None:
        """Close connections that have not authenticated in time."""
        late = time.monotonic() - HANDSHAKE_SECONDS
        for peer in [peer for peer in self.unauthenticated if peer.heard < late]:
            self._refuse(peer, f"it did not authenticate within {HANDSHAKE_SECONDS:g} s")

    def _authenticate(self, peer: Peer) -> None:
        lines = peer.lines(_HANDSHAKE_BYTES)
        if lines and (name := self._proved(peer, lines)):
            self.unauthenticated.remove(peer)
            if name in self.peers:
                self.drop(self.peers[name])
            self.peers[name] = peer
            peer.send({"welcome": 1})
        elif lines or not peer.open:
            self._refuse(peer, "it does not hold this run's token")

    def _proved(self, peer: Peer, lines: list[bytes]) -> str:
        """The name of a node that has proved to hold the token; "" for others."""
        nonce, _, rest = lines[0].partition(b" ")
        proof, _, name = rest.partition(b" ")
        if len(lines) > 1 or not same(proof, mac(self.token, b"node", peer.nonce, nonce, name)):
            return ""
        host = name.decode(errors="replace")
        if host not in self.names:
            return ""
        nonces = (peer.nonce, nonce)
        peer.authenticated(
            host,
            Seal(self.token, nonces, "from the first"),
            Seal(self.token, nonces, "to the first"),
        )
        return host

    def _refuse(self, peer: Peer, reason: str) -> None:
        self.drop(peer)
        if peer.address not in self._logged and len(self._logged) < MAX_LOGGED_REFUSALS:
            self._logged.add(peer.address)
            self.note(
                f"a connection from {peer.address} to the link port was refused: {reason}; further"
                " ones are not listed"
            )


def connect(address: str, port: int, token: str, name: str) -> Peer | None:
    """Connect to the first node and authenticate; None when it does not answer yet, or wrongly."""
    deadline = time.monotonic() + CONNECT_SECONDS
    try:
        line = socket.create_connection((address, port), timeout=2)
    except OSError:
        return None
    try:
        theirs, mine = _read_line(line, deadline), _nonce()
        line.sendall(
            b"%b %b %b\n" % (mine, mac(token, b"node", theirs, mine, name.encode()), name.encode())
        )
        nonces = (theirs, mine)
        incoming = Seal(token, nonces, "from the first")
        if incoming.opened(_read_line(line, deadline)) is None:
            line.close()
            return None
    except OSError:
        line.close()
        return None
    peer = Peer(line, address)
    peer.authenticated("first node", Seal(token, nonces, "to the first"), incoming)
    return peer


def _read_line(line: socket.socket, deadline: float) -> bytes:
    """A short line, byte by byte: what follows it is read later."""
    text = b""
    while not text.endswith(b"\n"):
        line.settimeout(max(0.001, deadline - time.monotonic()))
        byte = line.recv(1)
        if not byte or len(text) > _HANDSHAKE_BYTES or time.monotonic() > deadline:
            raise ConnectionAbortedError("not the first node of this run")
        text += byte
    return text[:-1]


def _nonce() -> bytes:
    return os.urandom(_NONCE_BYTES // 2).hex().encode()
