"""Any bytes to the heartbeat port of a run's nodes: the client is dropped, the listener goes on."""

from __future__ import annotations

import selectors
import socket
from functools import cache
from typing import Any

from tests.support.fuzz.surface import as_bytes, fuzzed
from trainer.node import heartbeat_link, seal

TOKEN = "secret"
SEEDS = [
    "0" * 32 + " " + "a" * 64 + " node-1\n",
    '{"node":"x","proof":"\u00e9"}\n',
    "GET / HTTP/1.1\r\n\r\n",
]
SEALED = ['{"beat": 1}', '{"failure": {"rank": 0, "lines": ["a"]}}', "[]", '"x"', "null"]


@cache
def server() -> Any:
    return heartbeat_link.HeartbeatServer(
        "127.0.0.1", 0, TOKEN, ["node-1"], selectors.DefaultSelector(), lambda _: None
    )  # type: ignore[arg-type, call-arg]


@fuzzed("link_messages", [*SEEDS, *SEALED], (), structured=False)
def test_any_caller_of_the_link_port_is_heard_or_dropped(text: str) -> None:
    """As a stranger, and as a node of the run that sends this under its seal."""
    with _connected() as (line, peer):
        line.sendall(as_bytes(text)[:4000] + b"\n")
        _hear_all(peer)
    with _connected() as (line, peer):
        theirs, mine = line.recv(100).strip(), b"1" * 32
        line.sendall(b"%b %b node-1\n" % (mine, seal.mac(TOKEN, b"node", theirs, mine, b"node-1")))
        _hear_all(peer)
        assert server().peers, "a node of the run is let in"
        sealed = seal.Seal(TOKEN, (theirs, mine), "to the first")
        line.sendall(sealed.closed(as_bytes(text).replace(b"\n", b" ")[:4000]) + b"\n")
        for message in _hear_all(peer):
            assert isinstance(message, dict)


class _connected:
    def __enter__(self) -> tuple[socket.socket, Any]:
        self.line = socket.create_connection(server().listener.getsockname())
        server().listener.setblocking(True)
        server().accept()
        return self.line, server().unauthenticated[-1]

    def __exit__(self, *_: object) -> None:
        self.line.close()
        for peer in [*server().unauthenticated, *server().peers.values()]:
            server().drop(peer)


def _hear_all(peer: Any) -> list[Any]:
    ready = selectors.DefaultSelector()
    ready.register(peer.line, selectors.EVENT_READ)
    ready.select(2)
    ready.close()
    return list(server().receive(peer))
