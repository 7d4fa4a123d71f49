"""A node's contact with the others of its run: the first node talks to all of them, the others to
the first one.

A node without heartbeats is lost: the first node reports that of another, and another of the first
one once its lease has expired.
"""

from __future__ import annotations

import selectors
import signal
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from trainer.node.failure import (
    FIRST_NODE_LOST,
    NODE_LOST,
    NODE_NOT_JOINED,
    Failure,
    failure_from,
)
from trainer.node.heartbeat_link import BEAT_SECONDS, HeartbeatServer, Peer, connect


class PeerCallbacks(NamedTuple):
    """What the supervisor does about messages of other nodes."""

    note: Callable[[str], None]  # a line for the log
    fail: Callable[[Failure], None]
    stop: Callable[[str, bool], None]  # the reason, and whether at once
    changed: Callable[[], None]  # the set of lost nodes has changed
    kill_stuck_ranks: Callable[[], None]  # ranks that wait for a lost node
    # The first node starts the run again, for the n-th time
    restart: Callable[[int], None] = lambda number: None


class Contact:
    def __init__(
        self,
        config: dict[str, Any],
        token: str,
        selector: selectors.BaseSelector,
        callbacks: PeerCallbacks,
    ) -> None:
        self.config, self.token, self.selector, self.callbacks = config, token, selector, callbacks
        self.host: str = config["host"]
        self.first: bool = config["node_rank"] == 0
        self.others: set[str] = set(config["others"]) if self.first else set()
        self.lost: set[str] = set()
        self.ended: set[str] = set()
        self.first_is_done = False
        self.idle: set[str] = set()  # others whose processes have all ended after a failure
        self.is_final = False  # the first node does not start the run again
        self.start_number = 0  # how often the run was started again; of messages, whose they are
        self.server: HeartbeatServer | None = None
        self.line: Peer | None = None  # to the first node, from the others
        self.reached = False  # the first node knows of this one
        self.heard: dict[str, float] = {}
        self.begun = self.beaten = self.renewed = time.monotonic()
        self.idle_sent = 0.0

    def open(self) -> None:
        if self.others:
            self.server = HeartbeatServer(
                self.config["link"]["address"],
                self.config["link"]["port"],
                self.token,
                self.others,
                self.selector,
                self.callbacks.note,
            )

    @property
    def awaited(self) -> set[str]:
        """Nodes that have neither ended nor been lost."""
        return self.others - self.lost - self.ended

    @property
    def unreported(self) -> bool:
        """Whether the first node still has to hear of this one, whose processes may have ended
        before it could be reached."""
        late = time.monotonic() - self.renewed > self.config["lease_seconds"]
        return not self.first and not self.reached and not late

    def keep_up(self, busy: bool, running: bool) -> None:
        """Called periodically; busy: this node's processes run, running: no failure and no request
        to stop."""
        if not self.first and not self.first_is_done and (busy or self.unreported):
            self._reach_first_node()
        if time.monotonic() - self.beaten >= BEAT_SECONDS:
            self.beaten = time.monotonic()
            if self.server:
                self.server.broadcast(
                    {"beat": 1, **({"finished": True} if running and not busy else {})}
                )
            if self.line:
                self.line.send({"beat": 1})
        if self.server:
            self.server.drop_unauthenticated()
            self._look_for_lost()

    def receive(self, peer: Peer) -> None:
        messages = self.server.receive(peer) if self.server else peer.receive()
        try:
            for message in messages:
                self._handle(peer, message)
        except (ValueError, TypeError, OverflowError) as error:
            peer.open = False
            self.callbacks.note(
                f"{peer.name} sent a malformed message ({error}): its connection is closed"
            )
            if self.server:
                self.server.drop(peer)
        if peer is self.line and not peer.open:
            self._disconnect()
        if self.server and self.server.peers.get(peer.name) is peer:
            self._note_joined(peer.name)

    def send_stop(self, reason: str, at_once: bool) -> None:
        if self.server:
            self.server.broadcast({"stop": reason, "at_once": at_once})

    def send_failure(self, failure: Failure) -> None:
        if self.line:
            self.line.send({"failed": failure.plain(), "start": self.start_number})

    @property
    def all_idle(self) -> bool:
        return self.others <= self.idle

    def awaits_decision(self, failure: Failure | None) -> bool:
        """Tell the first node that nothing runs here any more, and why, where it was not connected
        before; whether its decision is awaited."""
        if self.line and time.monotonic() - self.idle_sent >= BEAT_SECONDS:
            self.idle_sent = time.monotonic()
            if failure and failure.node == self.host:
                self.send_failure(failure)
            self.line.send({"idle": 1, "start": self.start_number})
        late = time.monotonic() - self.renewed > self.config["lease_seconds"]
        return not self.is_final and not self.first_is_done and not late

    def send_restart(self) -> int:
        """The run starts again on all nodes; for the how many-th time."""
        self.idle.clear()
        self.start_number += 1
        if self.server:
            self.server.broadcast({"restart": self.start_number})
        return self.start_number

    def send_final(self) -> None:
        """The run is over for all nodes."""
        if self.server:
            self.server.broadcast({"final": 1})

    def send_end(self) -> None:
        if self.line:
            self.line.send({"ended": 1})

    def _handle(self, peer: Peer, message: dict[str, Any]) -> None:
        if message.get("start", self.start_number) != self.start_number:
            if self.first and "idle" in message:  # it has not heard of it
                peer.send({"restart": self.start_number})
            return  # of processes that were started again since
        if "failed" in message and self.first and self.config["elastic_min"]:
            failure = failure_from(message["failed"])
            self._lose(peer.name, failure.kind, failure.what)
        elif "failed" in message:
            self.callbacks.fail(failure_from(message["failed"]))
        if "ended" in message:
            self.ended.add(peer.name)
        elif "beat" in message:
            self.ended.discard(peer.name)  # a node of an elastic run that was started again
        if "stop" in message:
            self.callbacks.stop(str(message["stop"]), bool(message.get("at_once")))
        if message.get("finished"):
            self.first_is_done = True
        if "idle" in message and self.first:
            self.idle.add(peer.name)
        if "final" in message:
            self.is_final = True
        if "restart" in message and not self.first:
            self.start_number = int(message["restart"])
            self.callbacks.restart(self.start_number)

    def _reach_first_node(self) -> None:
        if self.line and not self.line.open:
            self._disconnect()
        if self.line is None:
            self.line = connect(
                self.config["link"]["address"], self.config["link"]["port"], self.token, self.host
            )
            if self.line:
                self.selector.register(self.line.line, selectors.EVENT_READ, self.line)
                self.reached = True
                self.renewed = time.monotonic()
        else:
            self.renewed = max(self.renewed, self.line.heard)
        if time.monotonic() - self.renewed > self.config["lease_seconds"]:
            silence = (
                f"the first node has not been heard from for {self.config['lease_seconds']:g} s"
            )
            self.callbacks.fail(Failure(self.host, FIRST_NODE_LOST, silence, time.time()))

    def _disconnect(self) -> None:
        assert self.line
        self.selector.unregister(self.line.line)
        self.line.close()
        self.line = None

    def _note_joined(self, name: str) -> None:
        if name in self.lost:
            self.lost.discard(name)
            self.callbacks.note(f"{name} is back")
            self.callbacks.changed()
        elif name not in self.heard:
            self.heard[name] = time.monotonic()
            self.callbacks.note(f"{name} has joined")

    def _look_for_lost(self) -> None:
        assert self.server
        now = time.monotonic()
        for name in sorted(self.awaited):
            peer = self.server.peers.get(name)
            if peer:
                self.heard[name] = peer.heard
            last_heard = self.heard.get(name)
            timeout = self.config["silence_seconds" if last_heard else "join_seconds"]
            if now - (last_heard or self.begun) > timeout:
                if last_heard:
                    self._lose(name, NODE_LOST, f"has not been heard from for {timeout:g} s")
                else:
                    self._lose(name, NODE_NOT_JOINED, f"did not join within {timeout:g} s")

    def _lose(self, name: str, kind: str, what: str) -> None:
        if name in self.lost:
            return
        self.lost.add(name)
        left = 1 + len(self.others - self.lost)
        if not self.config["elastic_min"] or left < self.config["elastic_min"]:
            self.callbacks.fail(Failure(name, kind, what, time.time(), -signal.SIGKILL))
            return
        self.callbacks.note(
            f"{name} {what}; the run goes on with {left} of {1 + len(self.others)} nodes"
        )
        self.callbacks.changed()
        peer = self.server.peers.get(name) if self.server else None
        if self.server and peer:
            self.server.drop(peer)  # late messages of it no longer count
        self.callbacks.kill_stuck_ranks()
