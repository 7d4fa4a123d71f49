"""The link between nodes: each node beats to the first one and hears back; silence means that the other is gone.

The first node listens, the others call. Both sides prove that they hold the run's token before a word is believed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import selectors
import socket
import time
from typing import Any

BEAT_SECONDS = 1.0
_LINE_BYTES = 1 << 16


class Peer:
    """One end of a line: JSON messages in and out, and when it was last heard."""

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.line, self.name = line, ""
        self.heard = time.monotonic()
        self.open = True
        self.nonce = secrets.token_hex(16)
        self._incoming = b""

    def send(self, message: dict[str, Any]) -> None:
        try:
            self.line.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.open = False

    def receive(self) -> list[dict[str, Any]]:
        try:
            data = self.line.recv(_LINE_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.open = False
            return []
        self.heard = time.monotonic()
        *lines, self._incoming = (self._incoming + data).split(b"\n")
        if len(self._incoming) > _LINE_BYTES:
            self.open = False  # not one of ours
        try:
            return [message for message in map(json.loads, lines) if isinstance(message, dict)]
        except ValueError:
            self.open = False
            return []

    def close(self) -> None:
        self.line.close()


class Centre:
    """The first node's side: who has called, what they said, who fell silent."""

    def __init__(self, address: str, port: int, token: str, selector: selectors.BaseSelector) -> None:
        self.token, self.selector = token, selector
        self.listener = socket.create_server((address, port), backlog=256)
        self.listener.setblocking(False)
        selector.register(self.listener, selectors.EVENT_READ, self)
        self.strangers: list[Peer] = []
        self.peers: dict[str, Peer] = {}

    def accept(self) -> None:
        try:
            line, _ = self.listener.accept()
        except OSError:
            return
        peer = Peer(line)
        self.strangers.append(peer)
        self.selector.register(line, selectors.EVENT_READ, peer)
        peer.send({"nonce": peer.nonce})

    def hear(self, peer: Peer) -> list[dict[str, Any]]:
        """What a peer says, once it has proved itself; a stranger's words are dropped."""
        messages = peer.receive()
        if peer in self.strangers and messages:
            first = messages.pop(0)
            name = str(first.get("node", ""))
            self.strangers.remove(peer)
            if not name or not hmac.compare_digest(str(first.get("proof", "")), proof(self.token, peer.nonce, name)):
                self.drop(peer)
                return []
            if name in self.peers:
                self.drop(self.peers[name])
            peer.name = name
            self.peers[name] = peer
            peer.send({"proof": proof(self.token, str(first.get("nonce", "")), "centre")})
        return messages if peer.name else []

    def drop(self, peer: Peer) -> None:
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


def call(address: str, port: int, token: str, name: str) -> Peer | None:
    """Reach the first node and prove ourselves; None when it does not answer yet or is not the one."""
    try:
        line = socket.create_connection((address, port), timeout=2)
        line.settimeout(2)
        file = line.makefile("rb")
        challenge = json.loads(file.readline(_LINE_BYTES) or b"{}")
        mine = secrets.token_hex(16)
        answer = {"node": name, "proof": proof(token, str(challenge.get("nonce", "")), name), "nonce": mine}
        line.sendall(json.dumps(answer).encode() + b"\n")
        reply = json.loads(file.readline(_LINE_BYTES) or b"{}")
    except (OSError, ValueError):
        return None
    if not hmac.compare_digest(str(reply.get("proof", "")), proof(token, mine, "centre")):
        line.close()
        return None
    peer = Peer(line)
    peer.name = "centre"
    return peer


def proof(token: str, nonce: str, name: str) -> str:
    return hmac.new(token.encode(), f"{nonce} {name}".encode(), hashlib.sha256).hexdigest()
