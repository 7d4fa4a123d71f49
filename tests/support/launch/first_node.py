"""The first node of a run, as others and strangers reach it."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.until import until
from trainer.node.heartbeat_link import Peer, connect
from trainer.node.peer_contact import Contact, PeerCallbacks

TOKEN = "5f4dcc3b5aa765d61d8327deb882cf99"


class First:
    """The first node's contact, its loop turned by the test."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.ended: list[Any] = []
        self.selector = selectors.DefaultSelector()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        config = {
            "host": "node1",
            "node_rank": 0,
            "others": ["node2"],
            "link": {"address": "127.0.0.1", "port": self.port},
            "elastic_min": 0,
            "silence_seconds": 60,
            "join_seconds": 60,
            "lease_seconds": 60,
        }
        self.contact = Contact(
            config,
            TOKEN,
            self.selector,
            PeerCallbacks(
                note=self.notes.append,
                fail=self.ended.append,
                stop=lambda *why: self.ended.append(why),
                changed=lambda: None,
                kill_stuck_ranks=lambda: None,
            ),
        )
        self.contact.open()

    def turn(self, seconds: float = 0.02) -> None:
        for key, _ in self.selector.select(seconds):
            if isinstance(key.data, Peer):
                self.contact.receive(key.data)
            else:
                key.data.accept()
        self.contact.keep_up(True, True)

    def until(self, holds: Callable[[], object]) -> None:
        until(holds, seconds=20, pause=self.turn)

    def caller(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 5)

    def node(self, name: str = "node2", token: str = TOKEN) -> Peer | None:
        """A node that calls, which takes both ends."""
        found: list[Peer | None] = []
        thread = threading.Thread(
            target=lambda: found.append(connect("127.0.0.1", self.port, token, name))
        )
        thread.start()
        self.until(lambda: not thread.is_alive())
        return found[0]

    def close(self) -> None:
        assert self.contact.server
        for peer in [*self.contact.server.unauthenticated, *self.contact.server.peers.values()]:
            self.contact.server.drop(peer)
        self.contact.server.listener.close()
        self.selector.close()


@pytest.fixture
def first() -> Iterator[First]:
    made = First()
    yield made
    made.close()
