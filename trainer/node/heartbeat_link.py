"""The link between nodes: each node beats to the first one and hears back; silence means that the
other is gone.

The first node listens, the others call. Both prove that they hold the run's token before anything
is parsed:

    first node   NONCE
    other node   NONCE MAC NAME
    first node   a sealed {"welcome": 1}

After that every line is sealed: a MAC, a space, a JSON object. The first line that is not ends the
connection, never the run.
"""

from __future__ import annotations

import json
import secrets
import selectors
import socket
import time
from collections.abc import Callable, Collection
from typing import Any

from trainer.node.seal import Seal, mac, same

BEAT_SECONDS = 1.0
CALL_SECONDS = 3.0  # for the first node to answer a call, all in all
GREETING_SECONDS = 5.0  # for a caller to say who it is; a node of the run does at once
MOST_STRANGERS = 64  # callers that have not said it yet; the oldest makes room for the next
MOST_NOTES = 8  # addresses of refused callers that the log names
_NONCE_BYTES = 32
_GREETING_BYTES = 512
_LINE_BYTES = 1 << 18  # a failure with the last 20 lines of a log
_READ_BYTES = 1 << 16


class Peer:
    """One end of a line: JSON messages in and out, and when it was last heard."""

    def __init__(self, line: socket.socket, address: str = "") -> None:
        line.setblocking(False)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.line, self.address, self.name = line, address, ""
        self.heard = time.monotonic()
        self.open = True
        self.nonce = _nonce()
        self._sends: Seal | None = None
        self._hears: Seal | None = None
        self._incoming = b""

    def know(self, name: str, sends: Seal, hears: Seal) -> None:
        """It has proved itself: from here on lines are sealed."""
        self.name, self._sends, self._hears = name, sends, hears

    def send(self, message: dict[str, Any]) -> None:
        if self._sends:
            self.write(self._sends.closed(json.dumps(message).encode()))

    def write(self, line: bytes) -> None:
        try:
            self.line.sendall(line + b"\n")
        except OSError:  # gone, or it does not read what it is sent
            self.open = False

    def receive(self) -> list[dict[str, Any]]:
        """The messages that have come; a line that is not the other end's closes the connection."""
        found: list[dict[str, Any]] = []
        for line in self.lines(_LINE_BYTES):
            message = self._message(line)
            if message is None:
                self.open = False
                break
            found.append(message)
            self.heard = time.monotonic()
        return found

    def lines(self, most_bytes: int) -> list[bytes]:
        """Whole lines, of no more than so many bytes."""
        try:
            data = self.line.recv(_READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        *lines, self._incoming = (self._incoming + data).split(b"\n")
        if not data or max(map(len, (*lines, self._incoming))) > most_bytes:
            self.open = False
        return lines if data else []

    def close(self) -> None:
        self.line.close()

    def _message(self, line: bytes) -> dict[str, Any] | None:
        text = self._hears.opened(line) if self._hears else None
        try:
            message = None if text is None else json.loads(text)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None


class Centre:
    """The first node's side: who has called, what they said, who fell silent."""

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
        self.listener = socket.create_server((address, port), backlog=256)
        self.listener.setblocking(False)
        selector.register(self.listener, selectors.EVENT_READ, self)
        self.strangers: list[Peer] = []
        self.peers: dict[str, Peer] = {}
        self._noted: set[str] = set()

    def accept(self) -> None:
        try:
            line, address = self.listener.accept()
        except OSError:
            return
        if len(self.strangers) >= MOST_STRANGERS:
            self._refuse(self.strangers[0], "too many connections that do not say who they are")
        peer = Peer(line, str(address[0]))
        self.strangers.append(peer)
        self.selector.register(line, selectors.EVENT_READ, peer)
        peer.write(peer.nonce)

    def hear(self, peer: Peer) -> list[dict[str, Any]]:
        """What a peer says, once it has proved itself; a stranger's words are dropped."""
        if not peer.name:
            self._greet(peer)
            return []
        messages = peer.receive()
        if not peer.open:
            self.drop(peer)
        return messages

    def drop(self, peer: Peer) -> None:
        if peer in self.strangers:
            self.strangers.remove(peer)
        try:
            self.selector.unregister(peer.line)
        except (KeyError, ValueError):
            pass
        peer.close()
        if self.peers.get(peer.name) is peer:
            del self.peers[peer.name]

    def tell(self, message: dict[str, Any]) -> None:
        for peer in list(self.peers.values()):
            peer.send(message)
            if not peer.open:
                self.drop(peer)  # it calls again when it can

    def drop_the_silent(self) -> None:
        """Callers that have not said in time who they are."""
        for peer in [
            each for each in self.strangers if time.monotonic() - each.heard > GREETING_SECONDS
        ]:
            self._refuse(peer, f"it did not say who it is within {GREETING_SECONDS:g} s")

    def _greet(self, peer: Peer) -> None:
        lines = peer.lines(_GREETING_BYTES)
        if lines and (name := self._proved(peer, lines)):
            self.strangers.remove(peer)
            if name in self.peers:
                self.drop(self.peers[name])
            self.peers[name] = peer
            peer.send({"welcome": 1})
        elif lines or not peer.open:
            self._refuse(peer, "it does not hold this run's token")

    def _proved(self, peer: Peer, lines: list[bytes]) -> str:
        """The name of a node that has proved to hold the token; nothing for others."""
        nonce, _, rest = lines[0].partition(b" ")
        given, _, name = rest.partition(b" ")
        if len(lines) > 1 or not same(given, mac(self.token, b"node", peer.nonce, nonce, name)):
            return ""
        known = name.decode(errors="replace")
        if known not in self.names:
            return ""
        nonces = (peer.nonce, nonce)
        peer.know(
            known,
            Seal(self.token, nonces, "from the first"),
            Seal(self.token, nonces, "to the first"),
        )
        return known

    def _refuse(self, peer: Peer, why: str) -> None:
        self.drop(peer)
        if peer.address not in self._noted and len(self._noted) < MOST_NOTES:
            self._noted.add(peer.address)
            self.note(
                f"a connection from {peer.address} to the link port was refused: {why}; further"
                " ones are not listed"
            )


def call(address: str, port: int, token: str, name: str) -> Peer | None:
    """Reach the first node and prove ourselves; None when it does not answer yet or is not the one."""
    deadline = time.monotonic() + CALL_SECONDS
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
        hears = Seal(token, nonces, "from the first")
        if hears.opened(_read_line(line, deadline)) is None:
            line.close()
            return None
    except OSError:
        line.close()
        return None
    peer = Peer(line, address)
    peer.know("centre", Seal(token, nonces, "to the first"), hears)
    return peer


def _read_line(line: socket.socket, deadline: float) -> bytes:
    """A short line, byte by byte: what follows it is not ours to read yet."""
    found = b""
    while not found.endswith(b"\n"):
        line.settimeout(max(0.001, deadline - time.monotonic()))
        byte = line.recv(1)
        if not byte or len(found) > _GREETING_BYTES or time.monotonic() > deadline:
            raise ConnectionAbortedError("not the first node of this run")
        found += byte
    return found[:-1]


def _nonce() -> bytes:
    return secrets.token_hex(_NONCE_BYTES // 2).encode()
